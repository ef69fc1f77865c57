from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from coterie.data.batch import SetBatch
from coterie.inference.assignment import apply, apply_labels
from coterie.inference.config import InferenceConfig
from coterie.inference.constraints import Constraints
from coterie.inference.context import Sample
from coterie.inference.endings import choose_ending
from coterie.inference.engine import cluster_points
from coterie.metrics import ari
from coterie.systems.protocol import (
    Commit,
    Memberships,
    State,
    everything_remains,
    nothing_left,
)
from coterie.systems.traits import Traits

BOTH = pytest.mark.parametrize("ending", ["consolidate", "network"])
CENTRES = torch.tensor([[-4.0, -2.0], [4.0, -2.0], [0.0, 5.0], [50.0, 50.0]])


class Nearest:
    """A system without a density: each step claims the points nearest to the next centre."""

    name = "nearest"
    traits = Traits((2,))
    regions = ()

    def __init__(self, step_limit: int = 64) -> None:
        self.limit = step_limit

    def step_limit(self, batch: SetBatch) -> int:
        return self.limit

    def double(self) -> "Nearest":
        return self

    def start(self, batch: SetBatch) -> State:
        return everything_remains(batch)

    def step(self, state: State, generator: torch.Generator | None = None) -> Commit:
        memory = (torch.tensor([len(state.commits)]),)
        fresh = Commit(state.remaining, torch.empty(0), memory)
        logits = self.replay(state.batch.points, [fresh])[..., 0]
        logits = torch.where(state.remaining, logits, -torch.inf)
        return Commit(logits > 0, logits, memory)

    def finished(self, state: State) -> Tensor:
        return nothing_left(state) | torch.tensor(len(state.commits) == len(CENTRES))

    def replay(self, points: Tensor, commits) -> Tensor:
        distance = (points[..., None, :] - CENTRES.to(points)).norm(dim=-1)  # (B, M, K)
        nearest = distance.argmin(-1)[..., None]
        return torch.where(nearest == torch.cat([c.memory[0] for c in commits]), 10.0, -10.0)


def as_float32(blobs):
    return blobs.points.astype(np.float32)


def run(system, points, *, ending="auto", seed=0, **settings):
    config = InferenceConfig(choose_ending(ending, system.traits), **settings)
    return cluster_points(system, points, config, np.random.RandomState(seed))


@BOTH
def test_finds_the_blobs(shipped_dac, blobs, ending):
    clustering = run(shipped_dac, as_float32(blobs), ending=ending).clustering
    assert clustering.n_clusters == 3
    assert ari(blobs.labels, clustering.labels) == 1


@BOTH
def test_clusters_are_numbered_by_falling_size(shipped_dac, blobs, ending):
    points = as_float32(blobs)[::-1]  # the smallest blob comes first
    clustering = run(shipped_dac, points.copy(), ending=ending).clustering
    assert np.bincount(clustering.labels).tolist() == [150, 100, 50]


@BOTH
def test_probabilities_belong_to_the_labels(shipped_dac, blobs, ending):
    clustering = run(shipped_dac, as_float32(blobs), ending=ending).clustering
    assert (clustering.probabilities.argmax(1) == clustering.labels).all()
    np.testing.assert_allclose(clustering.probabilities.sum(1), 1, rtol=1e-12)


@BOTH
def test_permuting_the_points_permutes_the_labels(shipped_dac, blobs, ending):
    order = np.random.default_rng(0).permutation(300)
    points = as_float32(blobs)
    labels = run(shipped_dac, points, ending=ending).clustering.labels
    permuted = run(shipped_dac, points[order], ending=ending).clustering.labels
    assert (permuted == labels[order]).all()


@BOTH
@pytest.mark.parametrize("context_size", [60, 10_000])
def test_the_rule_repeats_the_labels(shipped_dac, blobs, ending, context_size):
    chosen = choose_ending(ending, shipped_dac.traits)
    config = InferenceConfig(chosen, context_size=context_size)
    # Points between the blobs as well, where the rule is in doubt.
    between = np.random.default_rng(0).uniform(-5, 6, (40, 2))
    points = np.concatenate([blobs.points, between]).astype(np.float32)
    clustering, rule, *_ = cluster_points(shipped_dac, points, config, np.random.RandomState(0))
    again = apply(rule, points, config.chunk_size)
    assert (again.labels == clustering.labels).all()
    np.testing.assert_allclose(again.probabilities, clustering.probabilities, atol=1e-12)
    assert (apply_labels(rule, points, chunk_size=97) == clustering.labels).all()


@BOTH
def test_points_that_are_read_from_a_file(shipped_dac, blobs, ending, tmp_path):
    np.save(tmp_path / "points.npy", as_float32(blobs))
    stored = np.load(tmp_path / "points.npy", mmap_mode="r")  # cannot be written
    settings = {"ending": ending, "context_size": 100, "chunk_size": 64}
    found = run(shipped_dac, stored, **settings).clustering
    expected = run(shipped_dac, as_float32(blobs), **settings).clustering
    assert (found.labels == expected.labels).all()
    assert (found.probabilities == expected.probabilities).all()


def test_the_exact_network_is_used_where_it_is_given(shipped_dac, blobs):
    config, exact = InferenceConfig(), deepcopy(shipped_dac).double()
    found = cluster_points(
        shipped_dac, as_float32(blobs), config, np.random.RandomState(0), exact=exact
    )
    own = run(shipped_dac, as_float32(blobs), ending="network")
    assert found.rule.system is exact
    assert own.rule.system is not shipped_dac
    assert shipped_dac.network.membership_head.weight.dtype == torch.float32
    assert (found.clustering.probabilities == own.clustering.probabilities).all()


@BOTH
def test_a_context_smaller_than_the_set_labels_all_of_it(shipped_dac, blobs, ending):
    clustering = run(shipped_dac, as_float32(blobs), ending=ending, context_size=150).clustering
    assert ari(blobs.labels, clustering.labels) == 1
    offered = clustering.steps[0].offered
    assert len(offered) == len(set(offered)) == 150
    assert offered.max() > 150  # drawn from everywhere
    for step in clustering.steps:
        assert len(set(blobs.labels[step.claimed])) == 1


def test_the_context_is_drawn_by_the_random_state(shipped_dac, blobs):
    points = as_float32(blobs)

    def drawn(seed):
        return run(shipped_dac, points, seed=seed, context_size=100).clustering.steps[0].offered

    assert (drawn(1) == drawn(1)).all()
    assert (drawn(1) != drawn(2)).any()


@BOTH
def test_the_same_call_gives_the_same_bits(shipped_dac, blobs, ending):
    first, second = (
        run(shipped_dac, as_float32(blobs), ending=ending).clustering for _ in range(2)
    )
    assert (first.labels == second.labels).all()
    assert (first.probabilities == second.probabilities).all()
    assert first.log_likelihood == second.log_likelihood


@BOTH
def test_chunks_do_not_matter(shipped_dac, blobs, ending):
    points = as_float32(blobs)
    whole = run(shipped_dac, points, ending=ending).clustering
    chunks = run(shipped_dac, points, ending=ending, chunk_size=7).clustering
    assert (chunks.labels == whole.labels).all()
    np.testing.assert_allclose(chunks.probabilities, whole.probabilities, rtol=0, atol=1e-12)


def test_a_system_without_a_density_keeps_its_own_word(blobs):
    clustering = run(Nearest(), as_float32(blobs)).clustering
    assert ari(blobs.labels, clustering.labels) == 1
    assert clustering.log_likelihood is None


def test_a_step_that_claims_nothing_leaves_no_cluster(blobs):
    points = np.concatenate([as_float32(blobs), CENTRES[:3].numpy()])
    clustering = run(Nearest(step_limit=10), points).clustering
    assert clustering.n_clusters == len(clustering.steps) == 3


def test_points_left_over_get_the_cluster_of_the_rule(blobs):
    clustering = run(Nearest(step_limit=2), as_float32(blobs)).clustering
    assert clustering.n_clusters == 2
    assert len(clustering.labels) == 300
    assert sum(len(step.claimed) for step in clustering.steps) == 250


def test_steps_tell_what_was_offered_and_claimed(blobs):
    steps = run(Nearest(), as_float32(blobs)).clustering.steps
    assert [len(step.offered) for step in steps] == [300, 150, 50]
    assert [len(step.claimed) for step in steps] == [150, 100, 50]
    for step in steps:
        sure = step.offered[step.probabilities > 0.5]
        assert (sure == step.claimed).all()


def test_every_point_is_claimed_once(shipped_dac, blobs):
    steps = run(shipped_dac, as_float32(blobs)).clustering.steps
    claimed = np.concatenate([step.claimed for step in steps])
    assert len(claimed) == len(set(claimed))


def test_log_likelihood_is_the_mean_over_the_points(shipped_dac, blobs):
    points = as_float32(blobs)
    clustering, rule, *_ = run(shipped_dac, points)
    expected = rule.log_likelihood(torch.from_numpy(points)).mean()
    assert clustering.log_likelihood == pytest.approx(float(expected))


def test_consolidation_does_not_lower_the_log_likelihood(shipped_dac, blobs):
    own, consolidated = (
        run(shipped_dac, as_float32(blobs), ending=choice).clustering.log_likelihood
        for choice in ("network", "consolidate")
    )
    assert consolidated >= own


def test_a_network_that_claims_nothing_is_refused(shipped_dac, blobs):
    points = np.full_like(as_float32(blobs), 1e30)
    with pytest.raises(ValueError, match="claims no point"):
        run(shipped_dac, points)


def test_results_are_frozen(shipped_dac, blobs):
    clustering = run(shipped_dac, as_float32(blobs)).clustering
    with pytest.raises(AttributeError):
        clustering.labels = None
    assert replace(clustering, warnings=("mind",)).warnings == ("mind",)


@BOTH
def test_the_order_of_the_points_does_not_change_a_bit(shipped_dac, blobs, ending):
    order = np.random.default_rng(0).permutation(300)
    points = as_float32(blobs)
    first = run(shipped_dac, points, ending=ending).clustering
    second = run(shipped_dac, points[order], ending=ending).clustering
    assert (second.probabilities == first.probabilities[order]).all()
    for one, other in zip(first.steps, second.steps, strict=True):
        assert set(order[other.claimed]) == set(one.claimed)


def weighted(points, rows, counts):
    """A run on some of the points, whatever drew them."""
    sample = Sample(np.asarray(rows), None if counts is None else np.asarray(counts, float))
    config, state = InferenceConfig(), np.random.RandomState(0)
    return cluster_points(Nearest(), points, config, state, contexts=[sample]).clustering


def test_points_that_are_there_twice_are_told_once(blobs):
    points = as_float32(blobs)
    counts = np.ones(300)
    counts[::3] = 2
    clustering = weighted(points, np.repeat(np.arange(300), counts.astype(int)), counts)
    assert [len(step.offered) for step in clustering.steps] == [300, 150, 50]
    assert [len(step.probabilities) for step in clustering.steps] == [300, 150, 50]
    assert [len(step.claimed) for step in clustering.steps] == [150, 100, 50]


def test_points_that_count_for_nothing_get_a_label_but_no_cluster(blobs):
    points, inside = as_float32(blobs), np.flatnonzero(blobs.labels != 2)
    clustering = weighted(points, inside, blobs.labels != 2)
    assert clustering.n_clusters == 2
    assert len(clustering.labels) == 300
    np.testing.assert_allclose(clustering.probabilities.sum(1), 1)


def test_clusters_are_numbered_by_what_their_points_count(blobs):
    points, counts = as_float32(blobs), np.where(blobs.labels == 2, 10.0, 1.0)
    heavy = weighted(points, np.arange(300), counts)
    plain = weighted(points, np.arange(300), None)
    assert np.bincount(plain.labels).tolist() == [150, 100, 50]
    assert np.bincount(heavy.labels).tolist() == [50, 150, 100]


@BOTH
@pytest.mark.parametrize("k", [1, 2, 4, 9])
@pytest.mark.parametrize("context_size", [60, 10_000])
def test_the_number_of_clusters_is_obeyed(shipped_dac, blobs, ending, k, context_size):
    settings = {"ending": ending, "context_size": context_size}
    points = as_float32(blobs)
    found = run(shipped_dac, points, constraints=Constraints(k, k), **settings)
    clustering, rule, noise = found.clustering, found.rule, found.noise
    assert set(clustering.labels) == set(range(k))
    assert clustering.probabilities.shape == (300, k)
    assert (apply_labels(rule, points, 41, noise=noise) == clustering.labels).all()
    assert (np.diff(np.bincount(clustering.labels)) <= 0).all()


def test_what_can_never_be_is_refused_before_the_work(blobs):
    config = InferenceConfig(constraints=Constraints(301, 301))
    with pytest.raises(ValueError, match="n_clusters=301 exceeds the number of rows, 300"):
        cluster_points(None, as_float32(blobs), config, np.random.RandomState(0))


def test_being_stopped_is_said(blobs):
    stopped = run(Nearest(step_limit=2), as_float32(blobs)).clustering
    assert "stopped after 2 steps with 50 points left" in stopped.warnings[0]
    assert run(Nearest(), as_float32(blobs)).clustering.warnings == ()


# Proposals of a part of the points


def test_the_network_proposes_from_some_points_and_the_likelihood_sees_all(shipped_dac, blobs):
    points = as_float32(blobs)
    clustering, rule, *_ = run(shipped_dac, points, n_proposal_points=60)
    assert len(clustering.steps[0].offered) == 60
    assert ari(blobs.labels, clustering.labels) == 1
    everybody = rule.log_likelihood(torch.from_numpy(points)).mean()
    assert clustering.log_likelihood == pytest.approx(float(everybody))
    # Moments of all points, not of those that were looked at.
    own = points[clustering.labels == 0].astype(np.float64)
    np.testing.assert_allclose(rule.mixture.mean[0], own.mean(0), atol=1e-6)


def test_the_points_shown_follow_the_points_and_not_their_order(shipped_dac, blobs):
    points = as_float32(blobs)
    order = np.random.default_rng(0).permutation(len(points))
    one, other = (
        run(shipped_dac, each, n_proposal_points=60).clustering for each in (points, points[order])
    )
    assert (one.probabilities[order] == other.probabilities).all()
    seen = set(map(tuple, points[one.steps[0].offered]))
    assert seen == set(map(tuple, points[order][other.steps[0].offered]))


def test_a_network_with_the_last_word_looks_at_all_points(shipped_dac, blobs):
    steps = run(
        shipped_dac, as_float32(blobs), n_proposal_points=60, ending="network"
    ).clustering.steps
    assert len(steps[0].offered) == len(blobs.points)


# A direct system


class AllAtOnce:
    """A direct system: the memberships of the nearest centres, of which it remembers some."""

    name = "all at once"
    traits = Traits((2,))
    regions = ()

    def __init__(self, *present: int) -> None:
        self.present = present
        self.generators: list[torch.Generator | None] = []

    def double(self) -> "AllAtOnce":
        return self

    def loss(self, batch: SetBatch, generator: torch.Generator | None = None) -> Tensor:
        raise NotImplementedError

    def cluster(self, batch: SetBatch, generator: torch.Generator | None = None) -> Memberships:
        assert torch.is_inference_mode_enabled()
        self.generators.append(generator)
        kept = torch.zeros(1, len(CENTRES), dtype=torch.bool)
        kept[:, list(self.present)] = True
        return Memberships(self.read(batch.points, (kept,)), (kept,))

    def read(self, points: Tensor, memory: tuple[Tensor, ...]) -> Tensor:
        distance = (points[..., None, :] - CENTRES.to(points)).square().sum(-1)  # (B, M, K)
        return torch.where(memory[0][:, None], -distance, -torch.inf).log_softmax(-1)


def test_a_direct_system_is_asked_once(blobs):
    system, points = AllAtOnce(2, 0, 1), as_float32(blobs)
    clustering, rule, noise, context, *_ = run(system, points)
    assert len(system.generators) == 1
    assert ari(blobs.labels, clustering.labels) == 1
    assert np.bincount(clustering.labels).tolist() == [150, 100, 50]
    assert (clustering.steps, clustering.warnings, clustering.log_likelihood) == ((), (), None)
    assert not noise
    assert len(context) == 300
    again = apply(rule, points, 41)
    assert (again.labels == clustering.labels).all()
    np.testing.assert_allclose(again.probabilities, clustering.probabilities, atol=1e-12)
    np.testing.assert_allclose(clustering.probabilities.sum(1), 1, rtol=1e-12)


def test_a_direct_system_draws_from_the_random_state(blobs):
    system = AllAtOnce(0, 1, 2)
    for seed in (1, 1, 2):
        run(system, as_float32(blobs), seed=seed)
    first, second, third = (generator.initial_seed() for generator in system.generators)
    assert first == second != third


def test_constraints_hold_for_a_direct_system(blobs):
    found = run(AllAtOnce(0, 1, 2), as_float32(blobs), constraints=Constraints(5, 5))
    assert found.clustering.n_clusters == 5
    found = run(AllAtOnce(0, 1, 2), as_float32(blobs), constraints=Constraints(2, 2))
    assert np.bincount(found.clustering.labels).sum() == 300
    assert found.clustering.n_clusters == 2


def test_a_direct_system_labels_a_set_larger_than_its_context(blobs):
    clustering = run(AllAtOnce(0, 1, 2), as_float32(blobs), context_size=60).clustering
    assert ari(blobs.labels, clustering.labels) == 1
