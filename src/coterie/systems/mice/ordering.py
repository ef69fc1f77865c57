"""MiCE with its clusters in another order."""

from collections.abc import Sequence

import torch

from coterie.systems.mice.mice import MiCE


@torch.no_grad()
def reordered(system: MiCE, order: Sequence[int]) -> MiCE:
    """The same network, whose cluster number i was number order[i]; the input is not changed."""
    n_clusters = system.config.n_clusters
    if sorted(order) != list(range(n_clusters)):
        raise ValueError(f"order must hold the numbers 0 to {n_clusters - 1} once, got {order}")
    clusters = torch.tensor(list(order))
    state = {name: value.clone() for name, value in system.state_dict().items()}
    for name in ("prototypes", "gating_prototypes", "sums"):
        state[name] = state[name][clusters]
    if not system.config.single_head:
        with_gate = torch.cat([clusters, torch.tensor([n_clusters])])  # the last head
        state["queue.keys"] = state["queue.keys"][clusters]
        for network in ("student", "teacher"):
            for part in ("weight", "bias"):
                name = f"pair.{network}.heads.{part}"
                state[name] = state[name][with_gate]
    other = MiCE(system.config)
    other.load_state_dict(state)
    device = next(system.parameters()).device
    return other.to(device).train(system.training)
