import numpy as np
import pytest
import torch

import coterie
from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.inference.loop import find_clusters
from coterie.inference.second_look import look_again
from coterie.systems.protocol import Commit
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
    return Commit(joined[None], logits[None], commit.memory, commit.gaussian)


@pytest.fixture(scope="module")
def merged(network, batch, blobs):
    """Three clusters of which two were taken for one."""
    step = find_clusters(network, batch).commits[0]
    labels = torch.tensor(blobs.labels)
    return claim_of(step, labels == 0), claim_of(step, labels > 0)


def look(network, batch, commits):
    return look_again(network, batch, commits, max_steps=64)


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
    model = coterie.AMCP(consolidate=False, second_look=second_look).fit(blobs.points)
    assert (model.predict(blobs.points) == model.labels_).all()
    assert model.n_clusters_ == len(model.trace_) == 3


def test_a_crowd_is_told_apart():
    drawn = MixtureOfGaussians(1500, 12).sample(30, torch.Generator().manual_seed(0))
    points, labels = (part[6][drawn.mask[6]].numpy() for part in (drawn.points, drawn.labels))
    hasty, careful = (
        coterie.AMCP(consolidate=False, second_look=look).fit(points) for look in (False, True)
    )
    assert hasty.n_clusters_ < careful.n_clusters_ == len(np.unique(labels))
    assert careful.clustering_.log_likelihood > hasty.clustering_.log_likelihood + 0.1
