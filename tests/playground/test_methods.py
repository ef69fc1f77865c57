import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.comparison.peers import peers
from coterie.estimators.registry import DEFAULT
from coterie.playground.methods import INITIAL, K_LIMIT, by_size, methods

PEERS = [name for name, method in methods().items() if method.kind == "peer"]


@pytest.fixture(scope="module")
def overlapping():
    """Clusters that no two methods divide alike, with points that HDBSCAN calls noise."""
    return np.random.default_rng(1).normal(size=(160, 2)) * [3.0, 1.0]


def test_every_model_and_every_peer_is_offered_and_the_default_is_first():
    offered = methods()
    assert next(iter(offered)) == DEFAULT
    assert [name for name, method in offered.items() if method.is_default] == [DEFAULT]
    assert [name for name, method in offered.items() if method.is_initial] == [INITIAL]
    assert {model.name for model in coterie.models()} <= set(offered)
    titles = {method.title for method in offered.values() if method.kind == "peer"}
    assert titles == {peer.name for peer in peers(K_LIMIT)}


@pytest.mark.parametrize("name", methods())
def test_every_method_finds_what_nobody_can_miss(name, blobs):
    found = methods()[name].find(blobs.points)
    assert adjusted_rand_score(blobs.labels, found.labels) > 0.6
    assert np.bincount(found.labels).tolist() == sorted(np.bincount(found.labels))[::-1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [DEFAULT, INITIAL, *PEERS])
def test_the_code_does_the_same(name, blobs, overlapping):
    for points in (blobs.points, overlapping):
        names = {"X": points}
        exec(methods()[name].code, names)
        found = methods()[name].find(points)
        assert adjusted_rand_score(names["labels"], found.labels) == 1.0


@pytest.mark.parametrize("name", PEERS)
def test_the_code_of_a_peer_needs_nothing_of_this_package(name):
    assert "coterie" not in methods()[name].code


def test_systems_tell_their_steps_and_peers_have_none(blobs):
    system = methods()[DEFAULT].find(blobs.points)
    assert sum(len(step.claimed) for step in system.steps) <= len(blobs.points)
    assert system.probabilities.shape == (len(blobs.points), system.labels.max() + 1)
    assert methods()["hdbscan"].find(blobs.points).steps is None


def test_peers_refuse_what_they_cannot_cluster():
    with pytest.raises(ValueError, match="three points"):
        methods()["k-means-silhouette"].find(np.zeros((2, 2)))


def test_clusters_are_numbered_by_falling_size_without_holes():
    assert by_size(np.array([7, 7, -1, 3, 3, 3])).tolist() == [1, 1, 2, 0, 0, 0]
