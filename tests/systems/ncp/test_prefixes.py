"""The batched prefixes against a loop over points and clusters that follows the equations."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.inference.loop import find_clusters
from coterie.systems.ncp.config import NCPConfig
from coterie.systems.ncp.prefixes import prefixes
from coterie.systems.ncp.steps import NCP
from coterie.systems.protocol import claimed_labels
from coterie.weights.format import load_system


def word_by_word(system: NCP, points: Tensor, labels: list[int]) -> list[float]:
    """The log-probability of each seat of one set (n, D), everything computed anew."""
    net = system.network
    h, u = net.seated_point(points), net.waiting_point(points)
    answers = []
    for n, label in enumerate(labels):
        known = list(dict.fromkeys(labels[:n]))
        waiting = sum((u[i] for i in range(n + 1, len(labels))), torch.zeros(u.shape[1]).double())
        waiting = waiting * min(1.0, system.config.most_waiting / len(labels))
        scores = []
        for k in [*known, "new"]:
            groups = {j: [i for i in range(n) if labels[i] == j] for j in known}
            groups.setdefault(k, []).append(n)
            total = sum(net.cluster(sum(h[i] for i in group)) for group in groups.values())
            read = torch.relu(net.read_clusters(total) + net.read_waiting(waiting))
            scores.append(net.rest_of_score(read)[0])
        seat = known.index(label) if label in known else len(known)
        answers.append(float(torch.stack(scores).log_softmax(0)[seat]))
    return answers


def random_set(n_points: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(n_points, 2, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("labels", [[0], [0, 0, 0], [2, 0, 2, 1, 1, 0, 2], [3, 1, 1, 3, 0]])
def test_prefixes_are_the_equations(small_ncp, labels):
    points, truth = random_set(len(labels)), torch.tensor([labels])
    found = small_ncp.seat_log_probabilities(
        points[None], truth, truth >= 0, prefixes(truth, n_clusters=4)
    )
    expected = torch.tensor(word_by_word(small_ncp, points, labels)).double()
    torch.testing.assert_close(found[0], expected)


def test_in_large_sets_waiting_points_count_as_many_as_in_training(small_ncp):
    labels = [0, 1, 0, 1, 1, 2]
    system = NCP(replace(small_ncp.config, most_waiting=4)).double().requires_grad_(False)
    system.load_state_dict(small_ncp.state_dict())
    points, truth = random_set(6), torch.tensor([labels])
    known = prefixes(truth, 3)
    found = system.seat_log_probabilities(points[None], truth, truth >= 0, known)
    expected = torch.tensor(word_by_word(system, points, labels)).double()
    torch.testing.assert_close(found[0], expected)
    plain = small_ncp.seat_log_probabilities(points[None], truth, truth >= 0, known)
    assert not torch.allclose(found, plain)
    state = find_clusters(system, SetBatch.single(points))  # the loop agrees
    seats = claimed_labels(state.commits)
    total = torch.stack([commit.log_probability for commit in state.commits]).sum()
    again = system.seat_log_probabilities(points[None], seats, seats >= 0, prefixes(seats, 6))
    torch.testing.assert_close(again.sum(), total)


def test_the_first_point_is_certain_of_a_new_cluster(small_ncp):
    truth = torch.tensor([[1, 0]])
    found = small_ncp.seat_log_probabilities(
        random_set(2)[None], truth, truth >= 0, prefixes(truth, 2)
    )
    assert found[0, 0] == 0
    assert found[0, 1] < 0


def test_padding_changes_no_prefix(small_ncp):
    labels, points = torch.tensor([[0, 1, 0, -1, -1]]), random_set(5)[None]

    def seats(labels):
        shown = points[:, : labels.shape[1]]
        return small_ncp.seat_log_probabilities(shown, labels, labels >= 0, prefixes(labels, 3))

    torch.testing.assert_close(seats(labels)[:, :3], seats(labels[:, :3]))


def test_the_steps_of_the_loop_multiply_to_the_probability_of_their_labels(small_ncp):
    points = torch.stack([random_set(9, seed) for seed in range(3)])
    mask = torch.arange(9) < torch.tensor([9, 4, 7])[:, None]
    state = find_clusters(small_ncp, SetBatch(points, mask), accelerate=False)  # in their order
    labels = claimed_labels(state.commits)
    seats = small_ncp.seat_log_probabilities(points, labels, mask, prefixes(labels, 9))
    total = torch.stack([commit.log_probability for commit in state.commits]).sum(0)
    torch.testing.assert_close(torch.where(mask, seats, 0.0).sum(1), total)


def test_the_loss_is_the_mean_over_all_seats_in_a_random_order(small_ncp):
    points, labels = random_set(6), torch.tensor([[0, 1, 0, 2, 1, -1]])
    batch = SetBatch(points[None], labels >= 0, labels)
    loss = small_ncp.loss(batch, torch.Generator().manual_seed(5))
    rank = torch.rand(1, 6, generator=torch.Generator().manual_seed(5))
    order = torch.where(labels >= 0, rank, 2.0).argsort(1)[0, :5]
    seats = word_by_word(small_ncp, points[order], labels[0, order].tolist())
    assert float(loss) == pytest.approx(-sum(seats) / 5)
    other = small_ncp.loss(batch, torch.Generator().manual_seed(6))
    assert float(other) != float(loss)


def test_every_weight_learns():
    system = NCP(NCPConfig(width=16, layers=2, point_width=8, cluster_width=12))
    labels = torch.tensor([[0, 1, 0, 2, 1, 0]])
    batch = SetBatch(torch.randn(1, 6, 2), labels >= 0, labels)
    system.loss(batch, torch.Generator().manual_seed(0)).backward()
    for name, weight in system.named_parameters():
        gradient = weight.grad
        assert gradient is not None, name
        assert gradient.isfinite().all(), name
        # A score's own offset cancels in the softmax.
        assert gradient.abs().max() > 1e-9 or name == "network.rest_of_score.2.bias", name


def test_seconds_of_training_make_true_seats_probable(tiny_ncp):
    trained, untrained = load_system(Path(tiny_ncp))[0], NCP(NCPConfig(k_max=3))
    fresh = MixtureOfGaussians(n_max=30, k_max=3).sample(64, torch.Generator().manual_seed(-1))
    losses = [
        system.loss(fresh, torch.Generator().manual_seed(0)).item()
        for system in (trained, untrained)
    ]
    assert losses[0] < 0.25 < 0.5 < losses[1]
