"""Sets with more clusters than the network reads axes, each along an axis of its own."""

import warnings

import numpy as np
import pytest
import torch

import coterie
from coterie.frames.protocol import FramedTable
from coterie.frames.standard import fit_standard
from coterie.inference.endings import Context
from coterie.inference.many_axes import agreed_by_two, all_axes, nearest_mean, silhouette
from coterie.inference.rules.mixture import MixtureRule
from coterie.metrics import ari

WEIGHTS = "amcp-universal-small"


def topics(k, n_rows=900, width=200, seed=0):
    """Unequal topics in random directions, the larger ones much larger."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, k + 1) ** -0.8
    sizes = np.round(n_rows * share / share.sum()).astype(int)
    topic = rng.permutation(np.repeat(np.arange(k), sizes))
    centres, scatter = (rng.normal(size=(n, width)) * width**-0.5 for n in (k, len(topic)))
    return centres[topic] + scatter, topic


def context_of(table):
    rows = np.arange(len(table))
    framed = FramedTable(table, fit_standard(table, 16))
    return Context(framed[rows], rows, rows, 16, "cpu", framed)


@pytest.fixture(scope="module")
def fitted():
    rows, topic = topics(35)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return coterie.AMCP(WEIGHTS).fit(rows), rows, topic, [str(each.message) for each in told]


def test_topics_beyond_the_axes_that_the_network_reads_are_found(fitted):
    model, _, topic, told = fitted
    assert ari(topic, model.labels_) > 0.95
    assert isinstance(model.fitted_.rule, MixtureRule)
    assert model.fitted_.frame.width > 16
    assert not any("principal components" in note for note in told)


def test_the_answer_holds_for_new_rows_and_in_a_file(fitted, tmp_path):
    model, rows, _, _ = fitted
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    again = coterie.load(model.save(tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict_proba(rows[:9]), model.predict_proba(rows[:9]))


def test_what_is_expected_is_what_two_mixtures_say(fitted):
    model, _, topic, _ = fitted
    assert model.expected_agreement_ == pytest.approx(ari(topic, model.labels_), abs=0.05)
    assert model.k_probabilities_.argmax() == model.n_clusters_


def test_the_order_of_rows_does_not_matter(fitted):
    model, rows, _, _ = fitted
    order = np.random.default_rng(1).permutation(len(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = coterie.AMCP(WEIGHTS).fit(rows[order])
    np.testing.assert_array_equal(other.labels_, model.labels_[order])


def test_the_axes_above_noise_are_taken():
    rows, _ = topics(35)
    wide = all_axes(context_of(rows))
    assert wide is not None
    assert 16 < wide.points.shape[1] <= 34  # 35 means span 34 axes
    np.testing.assert_array_equal(wide.frame(rows), wide.points)


@pytest.mark.parametrize("k", [1, 8])
def test_sets_of_few_directions_or_none_are_left_alone(k):
    rows, _ = topics(k)
    assert all_axes(context_of(rows)) is None


def test_narrow_tables_are_left_alone():
    assert all_axes(context_of(np.random.default_rng(0).normal(size=(200, 16)))) is None


def test_what_only_one_mixture_sees_does_not_count():
    rng = np.random.default_rng(0)
    one, another = np.repeat(np.arange(20), 20), rng.integers(0, 20, 400)
    assert agreed_by_two([one, another]) is None
    agreed = agreed_by_two(iter([one, another, np.roll(one, 1), another]))
    assert agreed is not None
    assert agreed.agreement == pytest.approx(ari(one, np.roll(one, 1)))
    np.testing.assert_array_equal(agreed.labels[0], one)


def test_a_silhouette_of_one_cluster_is_zero():
    rows = np.random.default_rng(0).normal(size=(30, 3))
    assert silhouette(rows, np.zeros(30, dtype=int)) == 0


def test_points_belong_to_the_nearest_mean():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    means = np.stack([rows[labels == each].mean(0) for each in range(4)])
    nearest = ((rows[:, None] - means) ** 2).sum(2).argmin(1)
    found = nearest_mean(rows, labels, "cpu").log_probabilities(torch.from_numpy(rows))
    np.testing.assert_array_equal(found.argmax(1).numpy(), nearest)
