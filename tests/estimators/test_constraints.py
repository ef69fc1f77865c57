"""What a user may ask of the estimators: a number of clusters, their size, noise, weights."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import coterie
from coterie.estimators.registry import clusterer
from coterie.metrics import ari

# A mixture, replayed networks with and without a density, parts that a second look saw.
KINDS = {
    "mixture": ("dac-mog2d", "consolidate", {}),
    "replay": ("amcp-mog2d", "network", {"second_look": False}),
    "second look": ("amcp-mog2d-wide", "network", {}),
    "without a density": ("amcp-warped2d", "auto", {}),
}
ALL = pytest.mark.parametrize("kind", KINDS)
STRAYS = np.array([[4.0, 4.0], [-4.0, 3.0], [0.0, 0.0]])


def model(kind, **asked):
    weights, ending, settings = KINDS[kind]
    return clusterer(weights, ending=ending, **settings, **asked)


@cache
def crowd(seed=0):
    """Four clusters that touch, and some points between them."""
    random = np.random.default_rng(seed)
    centres = np.array([[-2.0, 0.0], [-1.0, 0.2], [1.5, 1.0], [1.5, -2.0]])
    blobs = centres[np.repeat(np.arange(4), (40, 30, 20, 10))] + random.normal(0, 0.3, (100, 2))
    return np.concatenate([blobs, random.uniform(-3, 3, (12, 2))])


@pytest.mark.filterwarnings("ignore:the network reads 2 columns:UserWarning")
@parametrize_with_checks([coterie.AMCP("amcp-warped2d", n_clusters=(1, 4), noise=True)])
@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@ALL
@settings(max_examples=6)
@given(k=st.integers(1, 40) | st.tuples(st.integers(1, 12), st.integers(0, 6)))
@example(k=1)
@example(k=112)
def test_the_number_of_clusters_is_obeyed_and_predicted(kind, k):
    asked = k if isinstance(k, int) else (k[0], sum(k))
    low, high = (k, k) if isinstance(k, int) else asked
    found = model(kind, n_clusters=asked).fit(crowd())
    assert set(found.labels_) == set(range(found.n_clusters_))
    assert low <= found.n_clusters_ <= high
    assert (found.predict(crowd()) == found.labels_).all()
    np.testing.assert_allclose(found.predict_proba(crowd()), found.probabilities_, atol=1e-9)
    np.testing.assert_allclose(found.probabilities_.sum(1), 1)
    one_by_one = np.concatenate([found.predict(row[None]) for row in crowd()[:9]])
    assert (one_by_one == found.labels_[:9]).all()


@ALL
@settings(max_examples=4)
@given(k=st.integers(1, 12), size=st.integers(1, 9), noise=st.booleans(), seed=st.integers(0, 9))
def test_permuting_the_rows_permutes_the_labels(kind, k, size, noise, seed):
    order = np.random.default_rng(seed).permutation(len(crowd()))
    asked = {"n_clusters": (1, k), "min_cluster_size": size, "noise": noise}
    labels = model(kind, **asked).fit_predict(crowd())
    assert (model(kind, **asked).fit_predict(crowd()[order]) == labels[order]).all()


@ALL
@pytest.mark.parametrize("context_size", [50, 10_000])
@pytest.mark.parametrize("noise", [True, False])
def test_everything_at_once_and_predicted(kind, context_size, noise):
    asked = {"n_clusters": (2, 5), "min_cluster_size": 8, "noise": noise}
    found = model(kind, **asked, context_size=context_size, random_state=0).fit(crowd())
    assert set(found.labels_) - {-1} == set(range(found.n_clusters_))
    assert 2 <= found.n_clusters_ <= 5
    assert np.array_equal(found.predict(crowd()), found.labels_)
    assert np.array_equal(
        model(kind, **asked, context_size=context_size, random_state=0).fit_predict(crowd()),
        found.labels_,
    )


@ALL
def test_a_range_around_what_is_found_changes_nothing(kind, blobs):
    free = model(kind).fit(blobs.points)
    held = model(kind, n_clusters=(1, 30)).fit(blobs.points)
    assert (held.labels_ == free.labels_).all()
    np.testing.assert_allclose(held.probabilities_, free.probabilities_, atol=1e-12)


@ALL
def test_three_are_the_three_that_are_there(kind, blobs):
    assert ari(blobs.labels, model(kind, n_clusters=3).fit_predict(blobs.points)) == 1


@ALL
@pytest.mark.parametrize("size", [1, 5, 30, 60, 1000])
def test_no_cluster_is_smaller_than_asked_for(kind, size):
    found = model(kind, min_cluster_size=size).fit(crowd())
    assert np.bincount(found.labels_).min() >= min(size, len(crowd()))
    assert (found.predict(crowd()) == found.labels_).all()


@ALL
def test_noise_is_what_no_cluster_wants(kind, blobs):
    points = np.concatenate([blobs.points, STRAYS])
    found = model(kind, noise=True, min_cluster_size=5).fit(points)
    assert (found.labels_[300:] == -1).sum() >= (3 if kind == "mixture" else 1)
    assert (found.labels_[:300] >= 0).mean() > 0.98
    assert set(found.labels_) == set(range(-1, found.n_clusters_))
    assert (found.predict(points) == found.labels_).all()
    assert found.probabilities_.shape == (303, found.n_clusters_)
    np.testing.assert_allclose(found.probabilities_.sum(1), 1)
    draws = found.sample_partitions(5, random_state=0)
    assert ((draws == -1) == (found.labels_ == -1)).all()


@ALL
def test_by_default_every_row_has_a_cluster(kind, blobs):
    points = np.concatenate([blobs.points, STRAYS])
    found = model(kind).fit(points)
    assert found.labels_.min() == 0
    assert found.predict([[60.0, -70.0]])[0] >= 0


def test_noise_is_decided_when_it_is_fitted(blobs):
    found = coterie.AMCP("amcp-mog2d", noise=True).fit(blobs.points)
    assert found.predict([[60.0, -70.0]]).tolist() == [-1]
    found.set_params(noise=False)
    assert found.predict([[60.0, -70.0]]).tolist() == [-1]


@ALL
@pytest.mark.parametrize(("rows", "k"), [([[1.0, 2.0]] * 9, 2), ([[0.0, 0.0], [3.0, 1.0]] * 4, 3)])
def test_fewer_rows_that_differ_than_clusters_are_refused(kind, rows, k):
    with pytest.raises(
        ValueError, match=rf"n_clusters={k} is too many.* only {k - 1} are distinct"
    ):
        model(kind, n_clusters=k).fit(rows)


@ALL
@pytest.mark.parametrize("rows", [[[0.0, 0.0]], [[0.0, 0.0], [3.0, 1.0]] * 4, np.eye(2) * 1e-30])
@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
def test_as_many_clusters_as_rows_that_differ(kind, rows):
    distinct = len(np.unique(rows, axis=0))
    found = model(kind, n_clusters=distinct).fit(rows)
    assert found.n_clusters_ == len(set(found.labels_)) == distinct


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"n_clusters": 0}, "The 'n_clusters' parameter of AMCP"),
        ({"n_clusters": "three"}, "The 'n_clusters' parameter of AMCP"),
        ({"n_clusters": (5, 2)}, r"a range \(low, high\)"),
        ({"n_clusters": 301}, "n_clusters=301 exceeds the number of rows, 300"),
        ({"n_clusters": 20, "min_cluster_size": 20}, "needs 400 rows, but there are 300"),
        ({"min_cluster_size": 0}, "The 'min_cluster_size' parameter of AMCP"),
        ({"noise": "much"}, "The 'noise' parameter of AMCP"),
    ],
)
def test_constraints_that_cannot_hold_are_refused(blobs, asked, words):
    with pytest.raises(ValueError, match=words):
        coterie.AMCP(**asked).fit(blobs.points)


def test_constraints_travel_with_a_saved_model(tmp_path, blobs):
    asked = {"n_clusters": (2, 5), "min_cluster_size": 3, "noise": True}
    folder = coterie.AMCP(**asked).save_pretrained(tmp_path / "model")
    again = coterie.AMCP.from_pretrained(folder)
    assert list(again.n_clusters) == [2, 5]
    expected = coterie.AMCP(**asked).fit_predict(blobs.points)
    assert (again.fit_predict(blobs.points) == expected).all()


def test_constraints_go_with_one_call(blobs):
    assert set(coterie.cluster(blobs.points, n_clusters=5)) == set(range(5))


weights = st.lists(st.integers(0, 4), min_size=112, max_size=112)


@ALL
@settings(max_examples=4)
@given(counts=weights, size=st.sampled_from([1, 6]))
def test_whole_numbers_are_repeated_rows(kind, counts, size):
    counts = np.array(counts)
    counts[:2] = 1, 2
    asked = {"min_cluster_size": size, "noise": size > 1}
    repeated = model(kind, **asked).fit(np.repeat(crowd(), counts, axis=0))
    weighted = model(kind, **asked).fit(crowd(), sample_weight=counts)
    assert (weighted.predict(crowd()) == repeated.predict(crowd())).all()
    assert np.array_equal(weighted.predict_proba(crowd()), repeated.predict_proba(crowd()))
    assert (np.repeat(weighted.labels_, counts) == repeated.labels_).all()
    assert weighted.clustering_.log_likelihood == repeated.clustering_.log_likelihood


@ALL
@pytest.mark.parametrize("weight", [0.3, 1, 7])
def test_equal_weights_change_nothing(kind, weight):
    plain = model(kind).fit(crowd())
    weighted = model(kind).fit(crowd(), sample_weight=np.full(len(crowd()), weight))
    assert np.array_equal(weighted.probabilities_, plain.probabilities_)


@ALL
def test_rows_without_weight_get_a_label_but_have_no_say(kind, blobs):
    points = np.concatenate([blobs.points, blobs.points[:5] + 40.0])
    present = np.arange(305) < 300
    found = model(kind).fit(points, sample_weight=present)
    alone = model(kind).fit(blobs.points)
    assert (found.labels_[:300] == alone.labels_).all()
    assert len(found.labels_) == 305
    assert found.labels_.max() == alone.n_clusters_ - 1


def test_weights_that_are_no_whole_numbers_move_the_clusters(blobs):
    # One cloud; who weighs more on the right moves its mean there.
    random = np.random.default_rng(0)
    points = random.normal(0, 0.25, (2000, 2))
    weights = np.exp(4 * points[:, 0])
    found = coterie.AMCP("amcp-mog2d", random_state=0).fit(points, sample_weight=weights)
    # Of a Gaussian, such weights shift the mean by four times the variance.
    assert found.fitted_.rule.mixture.mean[:, 0].mean() == pytest.approx(0.25, abs=0.05)


def test_a_light_cluster_comes_last(blobs):
    weight = np.where(blobs.labels == 0, 0.01, 1.0)
    found = coterie.AMCP(random_state=0).fit(blobs.points, sample_weight=weight)
    shares = [weight[found.labels_ == cluster].sum() for cluster in range(found.n_clusters_)]
    assert (np.diff(shares) <= 0).all()


@pytest.mark.parametrize("wrong", [np.ones(3), -np.ones(300), np.full(300, np.nan)])
def test_wrong_weights_are_refused(blobs, wrong):
    with pytest.raises(ValueError, match=r"(?i)sample.?weight|shape"):
        coterie.AMCP().fit(blobs.points, sample_weight=wrong)


def test_weights_of_zero_alone_are_refused(blobs):
    with pytest.raises(ValueError, match=r"(?i)sample weights.* zero|non-zero"):
        coterie.AMCP().fit(blobs.points, sample_weight=np.zeros(300))


@pytest.mark.filterwarnings("ignore:the network reads 2 columns:UserWarning")
@pytest.mark.parametrize(
    ("weights", "ending"), [("amcp-warped2d", "auto"), ("amcp-mog2d", "network")]
)
@pytest.mark.parametrize("seed", range(6))
def test_an_empty_cluster_may_be_dissolved_in_a_table_that_is_projected(weights, ending, seed):
    """A cluster that no row chooses has no rows to move, whatever the frame."""
    rows = np.random.default_rng(seed).normal(size=(34, 3))
    found = coterie.AMCP(weights, ending=ending, min_cluster_size=3).fit(rows)
    assert np.bincount(found.labels_).min() >= min(3, 34 // found.n_clusters_)
    np.testing.assert_array_equal(found.predict(rows), found.labels_)
