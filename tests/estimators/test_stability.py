"""Several samples of a large table vote."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import coterie
from coterie.inference import election, engine
from coterie.inference.rules.full_mixture import FullMixtureRule
from coterie.metrics import ari

SMALL = "amcp-universal-small"


def far_apart(n):
    centres = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])
    labels = np.arange(n) % 3
    return centres[labels] + np.random.default_rng(0).normal(size=(n, 2)), labels


@pytest.fixture
def asked(monkeypatch):
    """The contexts that were clustered."""
    sizes = []
    answer = engine.answer_for

    def counted(system, points, config, rows, *rest):
        sizes.append(len(rows))
        return answer(system, points, config, rows, *rest)

    monkeypatch.setattr(engine, "answer_for", counted)
    return sizes


def test_a_table_that_is_read_whole_is_clustered_once(asked):
    points, _ = far_apart(300)
    assert coterie.AMCP(SMALL, context_size=300).fit(points).stability_ is None
    assert asked == [300]


def test_a_few_rows_more_than_the_context_are_read_whole(asked):
    points, _ = far_apart(2_100)
    assert coterie.AMCP(SMALL).fit(points).stability_ is None
    assert coterie.AMCP(SMALL, context_size=2_000).fit(points).stability_ is not None
    assert asked == [2_100, 2_000, 2_000]


def test_two_samples_that_agree_are_enough(asked):
    points, labels = far_apart(1000)
    model = coterie.AMCP(SMALL, context_size=300).fit(points)
    assert asked == [300, 300]
    assert model.stability_ == pytest.approx(1)
    assert ari(labels, model.labels_) == 1


def test_samples_that_disagree_are_said(asked):
    # Twelve clusters that touch: with so few rows, every sample shows others.
    points, _ = make_blobs(3000, centers=12, cluster_std=1, center_box=(-6, 6), random_state=0)
    model = coterie.AMCP(SMALL, context_size=100, ending="network")
    with pytest.warns(UserWarning, match="samples of the rows have different clusters"):
        model.fit(points)
    assert asked == [100] * 5
    assert model.stability_ < 0.7


def test_a_mixture_is_found_on_the_rows_of_all_samples_where_two_differ(asked, monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 3000)
    places = np.array(
        [(0, 0), (3.7, 0), *((12 * x, 12 * y) for x in (-1, 1, 2, 3) for y in (1, 2))]
    )
    points = places[labels] + rng.standard_normal((3000, 2))
    settled = coterie.AMCP(SMALL, context_size=200).fit(points)
    monkeypatch.setattr(election, "is_settled", lambda votes: False)
    together = coterie.AMCP(SMALL, context_size=200).fit(points)
    assert asked == [200] * 4
    assert together.n_clusters_ == together.k_probabilities_.argmax() == 10
    assert isinstance(together.fitted_.rule, FullMixtureRule)
    assert ari(labels, together.labels_) > ari(labels, settled.labels_)


def test_weights_and_specialists_have_one_sample(asked, blobs):
    points, _ = far_apart(600)
    weights = 1 + np.arange(600) % 2
    assert (
        coterie.AMCP(SMALL, context_size=300).fit(points, sample_weight=weights).stability_ is None
    )
    assert coterie.AMCP("amcp-mog2d", context_size=100).fit(blobs.points).stability_ is None
    assert len(asked) == 2


def test_the_vote_does_not_depend_on_the_order_of_the_rows():
    points = np.random.default_rng(1).normal(size=(900, 3))
    order = np.random.default_rng(2).permutation(900)
    one, other = (
        coterie.AMCP(SMALL, context_size=200).fit(each) for each in (points, points[order])
    )
    assert one.stability_ == other.stability_
    np.testing.assert_array_equal(one.labels_[order], other.labels_)


def test_judges_of_contexts_that_differ_elect_one_answer(monkeypatch):
    monkeypatch.setattr(election, "by_vote", None)  # not by a vote
    points, _ = make_blobs(2400, n_features=5, centers=7, cluster_std=4, random_state=0)
    points = np.sign(points) * np.abs(points) ** 1.4  # no mixture of Gaussians
    model = coterie.AMCP(context_size=300, ending="judge")
    with pytest.warns(UserWarning, match="samples of the rows have different clusters"):
        model.fit(points)
    assert model.n_clusters_ == model.k_probabilities_.argmax()
    assert model.k_probabilities_.sum() == pytest.approx(1)
    assert 0 < model.expected_agreement_ < 1
