"""Tables of more than three columns: a judge chooses, and says what to expect."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie import AMCP, DAC
from coterie.inference.judged import JUDGED_ROWS, NARROW

SMALL = "amcp-universal-small"


def overlapping(n=400, d=6, k=3, apart=2.5, seed=0):
    """Gaussians whose network's answer is often one cluster."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    centres = rng.normal(size=(k, d))
    centres *= apart / np.linalg.norm(centres[0] - centres[1])
    return centres[labels] + rng.normal(size=(n, d)), labels


@pytest.fixture(scope="module")
def judged():
    table, labels = overlapping()
    return table, labels, AMCP(SMALL).fit(table)


def test_the_judge_expects_some_agreement(judged):
    _, _, model = judged
    assert 0 < model.expected_agreement_ < 1


def test_the_chosen_number_is_the_most_probable(judged):
    _, _, model = judged
    assert model.k_probabilities_.argmax() == model.n_clusters_
    assert model.k_probabilities_.sum() == pytest.approx(1)


def test_the_runner_up_is_another_number_nearly_as_probable(judged):
    _, _, model = judged
    belief = model.k_probabilities_
    if model.runner_up_ is None:
        others = np.delete(belief, model.n_clusters_)
        assert others.max() < 0.5 * belief[model.n_clusters_]
    else:
        assert model.runner_up_ != model.n_clusters_
        assert belief[model.runner_up_] >= 0.5 * belief[model.n_clusters_]


def test_a_judge_beats_the_network_on_overlapping_clusters():
    gains = []
    for seed in range(6):
        table, labels = overlapping(d=8, k=2, apart=3.0, seed=seed)
        ari = [
            adjusted_rand_score(labels, AMCP(SMALL, ending=ending).fit_predict(table))
            for ending in ("network", "judge")
        ]
        gains.append(ari[1] - ari[0])
    assert np.mean(gains) > 0.1


def test_predict_repeats_the_labels_of_the_fitted_rows(judged):
    table, _, model = judged
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    np.testing.assert_allclose(model.predict_proba(table), model.probabilities_)


def test_the_order_of_rows_does_not_matter(judged):
    table, _, model = judged
    order = np.random.default_rng(0).permutation(len(table))
    again = AMCP(SMALL).fit(table[order])
    np.testing.assert_array_equal(again.labels_, model.labels_[order])
    assert again.expected_agreement_ == pytest.approx(model.expected_agreement_)


@pytest.mark.parametrize("k", [1, 2, 5, (3, 4), (2, 60)])
def test_the_number_of_clusters_is_obeyed(k):
    table, _ = overlapping(n=300)
    model = AMCP(SMALL, n_clusters=k).fit(table)
    low, high = (k, k) if isinstance(k, int) else k
    assert low <= model.n_clusters_ <= high
    belief = model.k_probabilities_
    assert belief[:low].sum() == 0
    assert belief[high + 1 :].sum() == 0


def test_few_columns_are_the_network_s_and_still_have_an_expectation():
    table, _ = overlapping(d=NARROW)
    auto, network = (AMCP(SMALL, ending=ending).fit(table) for ending in ("auto", "network"))
    np.testing.assert_array_equal(auto.labels_, network.labels_)
    assert 0 < auto.expected_agreement_ < 1
    assert auto.expected_agreement_ == network.expected_agreement_


def test_clear_clusters_are_expected_to_be_right():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400)
    table = rng.normal(size=(400, 5)) + 12 * rng.normal(size=(4, 5))[labels]
    clear = AMCP(SMALL, ending="judge").fit(table)
    vague = AMCP(SMALL, ending="judge").fit(overlapping(apart=1.0)[0])
    assert adjusted_rand_score(labels, clear.labels_) > 0.95
    assert clear.expected_agreement_ > 0.6
    assert clear.expected_agreement_ > vague.expected_agreement_ + 0.2


def test_noise_far_from_judged_clusters_is_found():
    table, _ = overlapping(n=500)
    far = 40 * np.random.default_rng(1).normal(size=(10, table.shape[1]))
    model = AMCP(SMALL, noise=True).fit(np.concatenate([table, far]))
    assert (model.labels_[-10:] == -1).mean() >= 0.9
    assert (model.labels_[:-10] == -1).mean() <= 0.02


@pytest.mark.parametrize("n_rows", [1, 2, 3, 10, 39, 41])
def test_few_rows_are_clustered(n_rows):
    model = AMCP(SMALL).fit(overlapping(n=n_rows)[0])
    assert len(model.labels_) == n_rows
    assert np.isfinite(model.probabilities_).all()


def test_equal_rows_and_constant_columns_are_clustered():
    table, _ = overlapping(n=200)
    table[:, 2:4] = 7.0
    assert AMCP(SMALL).fit(table).n_clusters_ >= 1
    assert AMCP(SMALL).fit(np.ones((80, 6))).n_clusters_ == 1


def test_rows_beyond_the_judge_s_are_labelled_too():
    table, labels = overlapping(n=3 * JUDGED_ROWS, apart=6)
    model = AMCP(SMALL).fit(table)
    assert adjusted_rand_score(labels, model.labels_) > 0.8


def test_weights_without_a_frame_of_their_own_have_no_judge():
    table, _ = overlapping(d=2)
    with pytest.raises(ValueError, match='ending="judge" needs weights'):
        AMCP("amcp-mog2d", ending="judge").fit(table)
    assert AMCP("amcp-mog2d").fit(table).expected_agreement_ is None
    assert DAC().fit(table).expected_agreement_ is None
