from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

from coterie.data.batch import SetBatch
from coterie.densities.gaussian import DiagonalGaussian
from coterie.inference.constraints import Constraints
from coterie.inference.endings import (
    ENDINGS,
    NETWORK_ENDING,
    Context,
    Ended,
    Proposal,
    choose_ending,
    consolidated,
    framed,
    network,
    predicted,
    reestimated,
)
from coterie.inference.loop import find_clusters
from coterie.inference.rules.branching import BranchingRule
from coterie.inference.rules.mixture import MixtureRule
from coterie.inference.rules.neighbours import NeighbourRule
from coterie.inference.rules.replay import ReplayRule
from coterie.inference.second_look import Look
from coterie.mixtures.consolidate import consolidate
from coterie.systems.protocol import Commit, claimed_labels
from coterie.systems.traits import Traits

GAUSSIAN = Traits((2,), "gaussian", 0.25, 4)
NO_DENSITY = Traits((2,))
ANY = Constraints()


# The choice


@pytest.mark.parametrize(
    ("name", "traits", "expected"),
    [
        ("auto", GAUSSIAN, consolidated),
        ("auto", NO_DENSITY, network),
        ("auto", Traits((2,), frame="standard"), framed),
        ("auto", Traits((2,), "gaussian", frame="standard"), consolidated),
        ("auto", Traits((2,), "histogram"), network),
        ("network", GAUSSIAN, network),
        ("network", NO_DENSITY, network),
        ("network", Traits((2,), "gaussian", frame="standard"), framed),
        ("em", GAUSSIAN, reestimated),
        ("consolidate", GAUSSIAN, consolidated),
    ],
)
def test_an_ending_suits_the_system(name, traits, expected):
    ending = choose_ending(name, traits)
    assert ending.end is expected
    assert ending.proposes == (expected is consolidated)


@pytest.mark.parametrize(
    ("name", "change_k"), [("auto", True), ("consolidate", True), ("em", False)]
)
def test_flows_have_an_em_of_their_own(name, change_k):
    end: Any = choose_ending(name, Traits((2,), "maf")).end
    assert (end.func, end.keywords) == (predicted, {"change_k": change_k})


@pytest.mark.parametrize("name", ["em", "consolidate"])
@pytest.mark.parametrize(
    "traits", [NO_DENSITY, Traits((2,), frame="standard"), Traits((2,), "histogram")]
)
def test_a_mixture_needs_gaussians(name, traits):
    with pytest.raises(ValueError, match=f'ending="{name}" needs clusters with a Gaussian density'):
        choose_ending(name, traits)


def test_the_endings_have_names():
    assert ENDINGS == ("auto", "network", "judge", "em", "consolidate", "looks")
    assert NETWORK_ENDING.end is network
    assert not NETWORK_ENDING.proposes


# Likelihood in the network's own parameters


def context_of(points: np.ndarray, columns: int | None = None, seen: Any = None) -> Context:
    rows = np.arange(len(points))
    return Context(points, rows, rows if seen is None else np.asarray(seen), columns, "cpu")


def commit(joined: list[int], mean: list[float], scale: list[float]) -> Commit:
    where = torch.tensor([joined], dtype=torch.bool)
    density = DiagonalGaussian(torch.tensor([mean]), torch.tensor([scale]).log())
    return Commit(where, torch.zeros(where.shape), (), density=density)


TWO = (commit([1, 1, 0, 1], [2.0, 1.0], [0.5, 1.0]), commit([0, 0, 1, 0], [5.0, 0.0], [1.0, 2.0]))
FOUR = np.array([[2.0, 1.0], [1.5, 0.0], [5.0, 1.0], [3.0, 3.0]], dtype=np.float32)


def likelihood(points: np.ndarray, columns: int) -> float:
    """The mean log-density under TWO: three of four points joined the first Gaussian."""
    joint = [
        np.log(share) + norm.logpdf(points[:, :columns], mean[:columns], scale[:columns]).sum(1)
        for share, mean, scale in ((0.75, [2.0, 1.0], [0.5, 1.0]), (0.25, [5.0, 0.0], [1.0, 2.0]))
    ]
    return float(logsumexp(joint, axis=0).mean())


@pytest.mark.parametrize("end", [network, framed])
@pytest.mark.parametrize(("columns", "read"), [(None, 2), (2, 2), (1, 1)])
def test_gaussians_are_weighted_by_who_joined_them(end, columns, read, shipped_dac):
    replayed = [c for c in steps_of(shipped_dac, FOUR).commits[:1] for _ in TWO]
    commits = tuple(
        Commit(own.joined, own.membership_logits, c.memory, density=own.density)
        for own, c in zip(TWO, replayed, strict=True)
    )
    ended = end(Proposal(shipped_dac, commits), context_of(FOUR, columns), ANY)
    assert ended.log_likelihood == pytest.approx(likelihood(FOUR, read), rel=1e-6)


def test_the_likelihood_is_that_of_the_points_the_network_saw(shipped_dac):
    more = np.concatenate([np.full((2, 2), 9.0, dtype=np.float32), FOUR])
    memory = steps_of(shipped_dac, FOUR).commits[0].memory
    commits = tuple(
        Commit(own.joined, own.membership_logits, memory, density=own.density) for own in TWO
    )
    ended = network(Proposal(shipped_dac, commits), context_of(more, seen=[2, 3, 4, 5]), ANY)
    assert ended.log_likelihood == pytest.approx(likelihood(FOUR, 2), rel=1e-6)


def test_without_a_density_there_is_no_likelihood(shipped_dac, points):
    found = steps_of(shipped_dac, points).commits
    silent = tuple(Commit(c.joined, c.membership_logits, c.memory) for c in found)
    assert network(Proposal(shipped_dac, silent), context_of(points), ANY).log_likelihood is None


# The rules


@pytest.fixture(scope="module")
def points(blobs):
    return blobs.points.astype(np.float32)


def steps_of(system, points: np.ndarray) -> Proposal:
    commits = find_clusters(system, SetBatch.single(torch.from_numpy(points))).commits
    return Proposal(system, commits)


@pytest.fixture(scope="module")
def proposal(shipped_dac, points) -> Proposal:
    return steps_of(shipped_dac, points)


def test_the_networks_own_steps_are_replayed_in_float64(proposal, points):
    rule = network(proposal, context_of(points), ANY).rule
    assert isinstance(rule, ReplayRule)
    assert rule.precision == torch.float64
    assert rule.system.network.membership_head.weight.dtype == torch.float64
    assert proposal.system.network.membership_head.weight.dtype == torch.float32


def test_an_exact_network_is_not_copied(proposal, points, exact_dac):
    assert network(proposal._replace(exact=exact_dac), context_of(points), ANY).rule.system is (
        exact_dac
    )


def test_in_a_frame_new_points_follow_their_neighbours(proposal, points):
    rule = framed(proposal, context_of(points), ANY).rule
    assert isinstance(rule, NeighbourRule)
    labels = rule.log_probabilities(torch.from_numpy(points)).argmax(1)
    assert torch.equal(labels, claimed_labels(proposal.commits)[0])
    near = torch.from_numpy(points) + 1e-4
    assert torch.equal(rule.log_probabilities(near).argmax(1), labels)


def test_clusters_that_were_divided_branch(proposal, points, shipped_dac):
    first, second, third = proposal.commits
    rows = (second.joined | third.joined)[0].nonzero()[:, 0]
    parts = steps_of(shipped_dac, points[rows.numpy()]).commits
    looks = (Look(first, first.joined[0].nonzero()[:, 0], ()), Look(second, rows, parts))
    divided = proposal._replace(commits=(first, second), looks=looks)
    assert len(divided.clusters) == 3
    assert isinstance(network(divided, context_of(points), ANY).rule, BranchingRule)
    whole = divided._replace(looks=tuple(look._replace(parts=()) for look in looks))
    assert whole.clusters == (first, second)
    assert isinstance(network(whole, context_of(points), ANY).rule, ReplayRule)


@pytest.mark.parametrize(("end", "change_k"), [(reestimated, False), (consolidated, True)])
@pytest.mark.parametrize("constraints", [ANY, Constraints(2, 2), Constraints(5, 8)])
def test_a_mixture_is_that_of_the_points_and_their_first_clusters(
    proposal, points, end, change_k, constraints
):
    ended = end(proposal, context_of(points), constraints)
    expected = consolidate(
        points,
        claimed_labels(proposal.commits)[0].numpy(),
        len(proposal.commits),
        change_k=change_k,
        cluster_scale=proposal.system.traits.cluster_scale,
        at_least=constraints.at_least,
        at_most=constraints.at_most,
    )
    assert_mixture(ended, expected.mixture)
    assert ended.log_likelihood == expected.total / len(points)


def test_points_that_the_network_did_not_see_are_part_of_the_mixture(shipped_dac, points):
    seen = np.arange(0, len(points), 3)
    shown = steps_of(shipped_dac, points[seen])
    labels = np.full(len(points), -1)
    labels[seen] = claimed_labels(shown.commits)[0].numpy()
    scale = shipped_dac.traits.cluster_scale
    expected = consolidate(points, labels, len(shown.commits), change_k=True, cluster_scale=scale)
    ended = consolidated(shown, context_of(points, seen=seen), ANY)
    assert_mixture(ended, expected.mixture)
    assert ended.log_likelihood == expected.total / len(points)


def test_a_mixture_has_the_columns_that_hold_data(proposal, points):
    ended = reestimated(proposal, context_of(points, columns=1), ANY)
    assert ended.rule.mixture.mean.shape == (len(proposal.commits), 1)


def assert_mixture(ended: Ended, expected: Any) -> None:
    assert isinstance(ended.rule, MixtureRule)
    for found, part in zip(ended.rule.mixture, expected, strict=True):
        np.testing.assert_array_equal(found, part)


def test_em_keeps_the_clusters_that_consolidation_would_drop(shipped_dac, points):
    (first, *others) = steps_of(shipped_dac, points).commits
    # One of the blobs in halves that nobody could tell apart.
    half = torch.arange(len(points)) % 2 == 0
    halves = [
        Commit(first.joined & side, first.membership_logits, first.memory, density=first.density)
        for side in (half, ~half)
    ]
    split = Proposal(shipped_dac, (*halves, *others))
    assert reestimated(split, context_of(points), ANY).rule.n_clusters == 4
    assert consolidated(split, context_of(points), ANY).rule.n_clusters == 3
