from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs

import coterie
from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.inference import second_look
from coterie.inference.loop import find_clusters
from coterie.inference.second_look import FEWEST_IN_FRAME, look_again, look_closer
from coterie.metrics import ari
from coterie.systems.protocol import Commit, State, everything_remains, nothing_left
from coterie.systems.traits import Traits
from coterie.weights.catalogue import open_model


@pytest.fixture(scope="module")
def network():
    return open_model("amcp-mog2d", "cpu")[0]


@pytest.fixture(scope="module")
def batch(blobs):
    return SetBatch.single(torch.tensor(blobs.points, dtype=torch.float32))


def claim_of(commit: Commit, joined: torch.Tensor) -> Commit:
    """The same step, had it taken these points."""
    logits = torch.where(joined, 5.0, -5.0)
    return Commit(joined[None], logits[None], commit.memory, density=commit.density)


@pytest.fixture(scope="module")
def merged(network, batch, blobs):
    """Three clusters of which two were taken for one."""
    step = find_clusters(network, batch).commits[0]
    labels = torch.tensor(blobs.labels)
    return claim_of(step, labels == 0), claim_of(step, labels > 0)


def look(network, batch, commits):
    return look_again(network, batch, commits)


def test_what_is_one_cluster_stays_so(network, batch, merged):
    whole = look(network, batch, merged)[0]
    assert whole.parts == ()
    assert whole.clusters() == (merged[0],)


def test_what_is_two_is_divided(network, batch, merged, blobs):
    divided = look(network, batch, merged)[1]
    labels = torch.tensor(blobs.labels)
    found = {tuple(part.joined[0].tolist()) for part in divided.clusters()}
    assert found == {tuple((labels == number).tolist()) for number in (1, 2)}


def test_parts_are_offered_only_the_points_of_their_cluster(network, batch, merged):
    divided = look(network, batch, merged)[1]
    for part in divided.clusters():
        offered = part.membership_logits.isfinite()
        assert offered.any()
        assert not (offered & ~merged[1].joined).any()
        assert not (part.joined & ~offered).any()


def test_companions_do_not_matter(network, batch, merged):
    together, alone = look(network, batch, merged)[1], look(network, batch, merged[1:])[0]
    for one, other in zip(together.parts, alone.parts, strict=True):
        assert torch.equal(one.joined, other.joined)
        memberships = one.membership_logits.sigmoid(), other.membership_logits.sigmoid()
        torch.testing.assert_close(*memberships, rtol=0, atol=1e-5)


def test_a_few_points_at_the_edge_are_no_part(network, batch, merged, blobs):
    labels = torch.tensor(blobs.labels)
    stragglers = (labels == 1).nonzero()[:5, 0]
    joined = labels == 0
    joined[stragglers] = True
    assert look(network, batch, [claim_of(merged[0], joined)])[0].parts == ()


@pytest.mark.parametrize("second_look", [False, True])
def test_the_rule_repeats_the_labels(blobs, second_look):
    model = coterie.AMCP("amcp-mog2d", ending="network", second_look=second_look).fit(blobs.points)
    assert (model.predict(blobs.points) == model.labels_).all()
    assert model.n_clusters_ == len(model.trace_) == 3


def test_a_crowd_is_told_apart():
    drawn = MixtureOfGaussians(1500, 12).sample(30, torch.Generator().manual_seed(0))
    points, labels = (part[7][drawn.mask[7]].numpy() for part in (drawn.points, drawn.labels))
    hasty, careful = (
        coterie.AMCP("amcp-mog2d", ending="network", second_look=look).fit(points)
        for look in (False, True)
    )
    assert hasty.n_clusters_ < careful.n_clusters_ == len(np.unique(labels))
    assert careful.clustering_.log_likelihood > hasty.clustering_.log_likelihood + 0.1


@pytest.fixture
def curious(monkeypatch):
    """Every cluster is looked at, however sure the network is of it."""
    monkeypatch.setattr(second_look, "SURE", 2.0)


def closer(network, batch, commits, fit_frame=lambda points: lambda table: table):
    return look_closer(network, batch, commits, fit_frame)


@pytest.mark.usefixtures("curious")
def test_in_a_plain_frame_clusters_are_what_they_are_alone(network, batch, merged):
    for one, other in zip(
        closer(network, batch, merged), look(network, batch, merged), strict=True
    ):
        assert torch.equal(one.rows, other.rows)
        assert len(one.parts) == len(other.parts)
        for part, expected in zip(one.parts, other.parts, strict=True):
            assert torch.equal(part.joined, expected.joined)


@pytest.mark.usefixtures("curious")
def test_the_frame_is_fitted_to_the_cluster_and_kept(network, batch, merged):
    shown = []

    def fit_frame(points):
        shown.append(points)
        return lambda table: table

    whole, divided = closer(network, batch, merged, fit_frame)
    for points, each in zip(shown, merged, strict=True):
        assert torch.equal(torch.from_numpy(points), batch.points[0, each.joined[0]])
    assert whole.frame is None
    assert divided.frame is not None


def test_a_frame_in_which_everything_is_one_point_divides_nothing(network, batch, merged):
    looks = closer(network, batch, merged, lambda points: lambda table: 0 * table)
    assert not any(each.parts for each in looks)


def test_parts_that_nobody_is_sure_of_are_not_taken(network, batch, merged, monkeypatch):
    monkeypatch.setattr("coterie.inference.second_look.SURE_ENOUGH", 1.0)
    assert not any(each.parts for each in closer(network, batch, merged))


def test_a_handful_of_points_is_not_worth_a_frame(network, batch, merged):
    few = merged[1].joined.clone()
    few[0, few[0].nonzero()[FEWEST_IN_FRAME - 1 :, 0]] = False
    (seen,) = closer(network, batch, [claim_of(merged[1], few[0])])
    assert seen.parts == ()


class InHalves:
    """A system that sees two halves in every set, and is as sure of each as it is told."""

    name = "in halves"
    traits = Traits((2,))
    regions = ()

    def __init__(self, *memberships: float, share: float = 0.5) -> None:
        self.memberships, self.share = memberships, share

    def start(self, batch: SetBatch) -> State:
        return everything_remains(batch)

    def step_limit(self, batch: SetBatch) -> int:
        return 64

    def step(self, state: State, generator: torch.Generator | None = None) -> Commit:
        n_points = state.remaining.shape[1]
        joined = torch.arange(n_points)[None] < round(self.share * n_points)
        joined = joined ^ bool(state.commits)
        return expecting(joined, self.memberships[len(state.commits)])

    def finished(self, state: State) -> torch.Tensor:
        return nothing_left(state)


class Refusing(InHalves):
    """A system that must not be asked."""

    def step(self, state: State, generator: torch.Generator | None = None) -> Commit:
        raise AssertionError


@pytest.mark.parametrize(
    ("sure", "size", "asked"), [(0.95, 60, False), (0.85, 60, True), (0.95, 25, True)]
)
def test_a_large_cluster_beyond_question_is_left_alone(sure, size, asked):
    """Of 200 points, so that 25 may be two of a crowd."""
    points = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    cluster = expecting(torch.arange(200)[None] < size, sure)
    if asked:
        (seen,) = closer(InHalves(0.99, 0.99), SetBatch.single(points), [cluster])
        assert len(seen.parts) == 2
    else:
        (seen,) = closer(Refusing(0.99, 0.99), SetBatch.single(points), [cluster])
        assert seen.parts == ()


def expecting(joined: torch.Tensor, membership: float) -> Commit:
    """A cluster of which the network is as sure as of each of its points."""
    logit = float(torch.tensor(membership, dtype=torch.float64).logit())
    return Commit(joined, torch.where(joined, logit, -torch.inf), ())


@pytest.mark.parametrize(
    ("whole", "first", "second", "share", "taken"),
    [
        (0.6, 0.9, 0.9, 0.5, True),
        (0.85, 0.9, 0.9, 0.5, True),
        (0.95, 0.9, 0.9, 0.5, False),  # sure enough, but less than of the whole
        (0.6, 0.75, 0.75, 0.5, False),  # surer than of the whole, but not enough
        (0.9, 0.99, 0.7, 0.9, True),  # 0.961: the larger part counts for more
        (0.9, 0.7, 0.99, 0.9, False),  # 0.729
        (0.9, 0.99, 0.7, 0.5, False),  # 0.845
    ],
)
def test_parts_are_taken_where_the_network_is_surer_of_them(whole, first, second, share, taken):
    points = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    seen_before = expecting(torch.arange(200)[None] < 100, whole)
    system = InHalves(first, second, share=share)
    (seen,) = closer(system, SetBatch.single(points), [seen_before])
    assert [int(part.joined.sum()) for part in seen.parts] == (
        [round(100 * share), round(100 * (1 - share))] if taken else []
    )
    assert (seen.frame is not None) == taken


@pytest.mark.usefixtures("curious")
def test_a_network_that_is_sure_of_the_whole_is_not_persuaded(network, batch, merged):
    certain = replace(merged[1], membership_logits=8 * merged[1].membership_logits)
    assert closer(network, batch, [merged[1]])[0].parts
    assert not closer(network, batch, [certain])[0].parts


def fitted(X, second_look):
    model = coterie.AMCP("amcp-universal", ending="network", second_look=second_look)
    return model.fit(X)


# Of either sixteen the network takes two for one.
@pytest.mark.parametrize(("k", "seed"), [(16, 4), (16, 6)])
def test_blobs_that_a_crowd_hides_are_told_apart_in_their_own_frame(k, seed):
    X, y = make_blobs(60 * k, centers=k, cluster_std=0.35, random_state=seed)
    plain, closer = fitted(X, False), fitted(X, True)
    assert plain.n_clusters_ < closer.n_clusters_ == k
    assert ari(y, closer.labels_) > 0.9
    assert np.array_equal(closer.predict(X), closer.labels_)


def test_a_blob_that_the_first_look_knew_is_left_whole(monkeypatch):
    """One of these eight falls apart in a frame of its own, into halves that look sure enough."""
    X, _ = make_blobs(800, 8, centers=8, cluster_std=2.0, random_state=12)
    careful, sureness = fitted(X, True), second_look._sureness

    def of_parts_alone(parts):
        return sureness(parts) if len(parts) > 1 else 0.0

    monkeypatch.setattr(second_look, "_sureness", of_parts_alone)
    assert careful.n_clusters_ == 8 < fitted(X, True).n_clusters_


def shrunk(points):
    """A frame of half the size, far from the set's own."""
    return (0.5 * points - 1.0).astype(np.float32)


def test_densities_of_parts_found_in_another_frame_are_those_of_the_set(network, batch, merged):
    unsure = replace(merged[1], membership_logits=0.2 * merged[1].membership_logits)
    (divided,) = look_closer(network, batch, [unsure], lambda points: shrunk)
    assert len(divided.parts) == 2
    for part in divided.clusters():
        members = batch.points[0, part.joined[0]]
        torch.testing.assert_close(part.density.mean[0], members.mean(0))
        torch.testing.assert_close(part.density.log_scale[0].exp(), members.std(0, correction=0))
