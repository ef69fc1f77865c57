import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie.comparison.peers import peers
from coterie.estimators.registry import DEFAULT
from coterie.playground.methods import INITIAL, by_size, methods
from coterie.playground.peer_search import K_LIMIT
from coterie.playground.wishes import Wishes

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
    for model in coterie.models():
        assert (model.name in offered) == model.reads_tables
    titles = {method.title for method in offered.values() if method.kind == "peer"}
    assert titles == {peer.name for peer in peers(K_LIMIT)}


@pytest.mark.parametrize("name", methods())
def test_every_method_finds_what_nobody_can_miss(name, blobs):
    found = methods()[name].find(blobs.points, Wishes())
    assert adjusted_rand_score(blobs.labels, found.labels) > 0.6
    assert np.bincount(found.labels).tolist() == sorted(np.bincount(found.labels))[::-1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "wishes",
    [Wishes(), Wishes((4, 4)), Wishes((2, 3), noise=True), Wishes((1, 1)), Wishes(noise=True)],
)
@pytest.mark.parametrize("name", [DEFAULT, INITIAL, "dac-mog2d", *PEERS])
def test_the_code_does_the_same(name, wishes, blobs, overlapping):
    for points in (blobs.points, overlapping):
        names = {"X": points}
        exec(methods()[name].code_for(wishes), names)
        found = methods()[name].find(points, wishes)
        assert adjusted_rand_score(names["labels"], found.labels) == 1.0


@pytest.mark.parametrize("name", PEERS)
def test_the_code_of_a_peer_needs_nothing_of_this_package(name):
    assert "coterie" not in methods()[name].code_for(Wishes())


def test_systems_tell_their_steps_and_peers_have_none(blobs):
    system = methods()[DEFAULT].find(blobs.points, Wishes())
    assert sum(len(step.claimed) for step in system.steps) <= len(blobs.points)
    assert system.probabilities.shape == (len(blobs.points), system.labels.max() + 1)
    assert methods()["hdbscan"].find(blobs.points, Wishes()).steps is None


def test_peers_refuse_what_they_cannot_cluster():
    with pytest.raises(ValueError, match="three points"):
        methods()["k-means-silhouette"].find(np.zeros((2, 2)), Wishes())


@pytest.mark.parametrize("name", [DEFAULT, INITIAL, "dac-mog2d", "amcp-mog2d"])
def test_systems_find_as_many_clusters_as_are_wished(name, overlapping):
    for bounds in [(1, 1), (5, 5), (2, 3)]:
        found = methods()[name].find(overlapping, Wishes(bounds))
        assert bounds[0] <= len(set(found.labels)) <= bounds[1]


@pytest.mark.parametrize("name", ["gaussianmixture-bic", "k-means-silhouette"])
def test_peers_that_search_find_as_many_clusters_as_are_wished(name, overlapping):
    for bounds in [(1, 1), (5, 5), (2, 3)]:
        found = methods()[name].find(overlapping, Wishes(bounds))
        assert bounds[0] <= len(set(found.labels)) <= bounds[1]
        assert found.warnings == ()


def test_peers_say_what_they_cannot_be_told(overlapping):
    def remarks(name, wishes):
        return " ".join(methods()[name].find(overlapping, wishes).warnings)

    assert "HDBSCAN does not take a number" in remarks("hdbscan", Wishes((3, 3)))
    assert "maximum number" in remarks("bayesiangaussianmixture", Wishes((3, 3)))
    assert "does not label noise" in remarks("k-means-silhouette", Wishes(noise=True))
    assert remarks("hdbscan", Wishes(noise=True)) == ""


def test_noise_is_left_where_it_is_wished(overlapping):
    assert -1 in methods()["hdbscan"].find(overlapping, Wishes(noise=True)).labels
    assert -1 not in methods()["hdbscan"].find(overlapping, Wishes()).labels


def test_a_peer_with_fewer_points_than_clusters_says_so():
    with pytest.raises(ValueError, match="more than 9 points"):
        methods()["gaussianmixture-bic"].find(np.eye(5), Wishes((9, 9)))


def test_clusters_are_numbered_by_falling_size_without_holes():
    assert by_size(np.array([7, 7, 1, 3, 3, 3])).tolist() == [1, 1, 2, 0, 0, 0]
    assert by_size(np.array([7, -1, -1, 3, 3])).tolist() == [1, -1, -1, 0, 0]
    assert by_size(np.array([-1, -1])).tolist() == [-1, -1]
