"""MiCE for inference, without the parts used only in training: the student, most of the queue."""

from dataclasses import replace

import torch

from coterie.systems.mice.mice import MiCE


@torch.no_grad()
def trimmed(system: MiCE, n_keys: int = 1024) -> MiCE:
    """The same clusters from the teacher and the newest keys of the queue, in half precision.

    The estimate of the normaliser (eq. 9) is a mean over keys; a thousand keys give it within a few
    per mille, with much the same error for all experts. The student is a copy of the teacher, which
    a weights file need not store twice.
    """
    length = system.queue.keys.shape[1]
    kept = min(n_keys, length)
    small = MiCE(replace(system.config, queue=kept))
    newest = (system.queue.place.cpu() - kept + torch.arange(kept)) % length
    state = {name: value.cpu() for name, value in system.state_dict().items()}
    state["queue.keys"] = state["queue.keys"][:, newest]
    state["queue.place"] = torch.zeros_like(state["queue.place"])
    state["sums"] = torch.zeros_like(state["sums"])
    for name in list(state):
        if name.startswith("pair.student."):
            state[name] = state[name.replace("student", "teacher", 1)]
    small.load_state_dict({name: _rounded(value) for name, value in state.items()})
    return small.eval()


def _rounded(value: torch.Tensor) -> torch.Tensor:
    return value.half() if value.is_floating_point() else value
