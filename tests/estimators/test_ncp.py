import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import coterie
from coterie.estimators.registry import clusterer
from coterie.inference import samples
from coterie.inference.rules.seating import SeatingRule
from coterie.metrics import ari
from coterie.systems.ncp.cost import CPU


@pytest.fixture(scope="module")
def few(blobs):
    """Sixty rows of three clusters that nobody can miss."""
    return blobs.points[::5], blobs.labels[::5]


@pytest.fixture(scope="module")
def model(tiny_ncp, few):
    return coterie.NCP(tiny_ncp, n_samples=20, random_state=0).fit(few[0])


def test_finds_clusters_that_nobody_can_miss(model, few):
    assert ari(few[1], model.labels_) > 0.8
    assert isinstance(model.fitted_.rule, SeatingRule)


def test_labels_are_those_of_prediction(model, few):
    points, _ = few
    assert (model.predict(points) == model.labels_).all()
    np.testing.assert_allclose(model.predict_proba(points), model.probabilities_, atol=1e-12)
    np.testing.assert_allclose(model.probabilities_.sum(1), 1)


def test_the_order_of_the_rows_does_not_matter(model, tiny_ncp, few):
    points, _ = few
    order = np.random.default_rng(0).permutation(len(points))
    again = coterie.NCP(tiny_ncp, n_samples=20, random_state=0).fit(points[order])
    assert ari(model.labels_[order], again.labels_) == 1


def test_the_trace_holds_the_clusters_of_the_most_probable_draw(model, few):
    rows = np.concatenate([step.claimed for step in model.trace_])
    assert sorted(rows) == list(range(len(few[0])))
    assert all((step.probabilities <= 1).all() for step in model.trace_)


def test_weights_find_their_estimator(tiny_ncp):
    assert isinstance(clusterer(tiny_ncp), coterie.NCP)
    with pytest.raises(ValueError, match=r"of the system 'dac', NCP needs 'ncp'"):
        coterie.NCP("dac-mog2d").fit(np.zeros((4, 2)))


def test_other_endings_are_refused(tiny_ncp, few):
    with pytest.raises(ValueError, match="needs clusters with a Gaussian density"):
        coterie.NCP(tiny_ncp, ending="em").fit(few[0])


def test_saved_and_loaded_it_predicts_the_same(model, few, tmp_path):
    again = coterie.load(model.save(tmp_path / "model.safetensors"))
    assert isinstance(again, coterie.NCP)
    assert again.n_samples == 20
    np.testing.assert_array_equal(again.predict_proba(few[0]), model.predict_proba(few[0]))
    with pytest.raises(AttributeError, match="this model was loaded"):
        again.sample_partitions(3)


def test_the_number_of_clusters_can_be_given(tiny_ncp, few):
    for k in (1, 2, 5):
        found = coterie.NCP(tiny_ncp, n_samples=2, n_clusters=k).fit(few[0])
        assert found.n_clusters_ == k
        assert found.k_probabilities_[k] == 1


# Posterior samples.


def test_the_posterior_of_k_are_the_shares_of_the_draws(model):
    belief = model.k_probabilities_
    assert belief.sum() == pytest.approx(1)
    counts = belief * 20
    np.testing.assert_allclose(counts, counts.round())
    draws = model._record.outcome.samples
    assert draws.shape == (20, 60)
    np.testing.assert_allclose(belief, samples.shares_of_k(draws))


def test_a_range_for_k_bounds_its_posterior(tiny_ncp, few):
    found = coterie.NCP(tiny_ncp, n_samples=4, n_clusters=(30, 31)).fit(few[0])
    assert found.k_probabilities_[30:].sum() == pytest.approx(1)


def test_partitions_are_drawn_jointly(model, few):
    draws = model.sample_partitions(30, random_state=1)
    assert draws.shape == (30, 60)
    assert np.mean([ari(few[1], draw) for draw in draws]) > 0.6
    assert np.array_equal(draws, model.sample_partitions(30, random_state=1))
    assert not np.array_equal(draws, model.sample_partitions(30, random_state=2))
    for draw in draws:  # numbered without gaps, within each draw
        assert set(draw) == set(range(draw.max() + 1))


def test_rows_that_were_not_fitted_are_a_set_of_their_own(tiny_ncp, few):
    points, truth = few
    fresh = coterie.NCP(tiny_ncp)
    draws = fresh.sample_partitions(points, 8, random_state=0)
    assert draws.shape == (8, len(points))
    assert np.mean([ari(truth, draw) for draw in draws]) > 0.6
    assert not hasattr(fresh, "labels_")
    named = fresh.sample_partitions(pd.DataFrame(points, columns=["a", "b"]), 8, random_state=0)
    assert np.array_equal(draws, named)


def test_fitted_rows_that_were_only_sampled_have_no_joint_draws(tiny_ncp, few):
    found = coterie.NCP(tiny_ncp, n_samples=1, context_size=30).fit(few[0])
    with pytest.raises(ValueError, match="found on 30 of 60 rows: give the rows"):
        found.sample_partitions(3)


def test_the_co_assignment_is_that_of_the_draws(model, few):
    together = model.co_assignment(few[0], 25, random_state=0)
    draws = model.sample_partitions(few[0], 25, random_state=0)
    np.testing.assert_allclose(together, samples.co_assignment(draws))
    assert together.shape == (60, 60)
    np.testing.assert_array_equal(together, together.T)
    same = few[1][:, None] == few[1]
    assert together[same].mean() > together[~same].mean() + 0.4


def test_every_estimator_has_samples_of_fitted_and_of_other_rows(blobs):
    model = coterie.DAC(ending="network").fit(blobs.points)
    assert model.sample_partitions(5, random_state=0).shape == (5, 300)
    draws = model.sample_partitions(blobs.points[:20], 5, random_state=0)
    assert draws.shape == (5, 20)
    assert (draws == model.labels_[:20]).mean() > 0.95
    together = model.co_assignment(blobs.points[:20], random_state=0)
    assert together.shape == (20, 20)
    assert (np.diag(together) == 1).all()


@pytest.mark.parametrize("n_samples", [0, -1, 1.5, True, "many"])
def test_a_number_of_draws_below_one_is_refused(model, tiny_ncp, few, n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer of 1 or more"):
        model.sample_partitions(few[0], n_samples)
    with pytest.raises(ValueError, match="'n_samples' parameter of NCP must be an int"):
        coterie.NCP(tiny_ncp, n_samples=n_samples).fit(few[0])


def test_a_co_assignment_needs_a_fit_or_rows(tiny_ncp):
    for estimator in (coterie.NCP(tiny_ncp), coterie.AMCP()):
        with pytest.raises(NotFittedError):
            estimator.co_assignment()


def test_a_co_assignment_of_many_rows_is_refused_before_the_work(model):
    with pytest.raises(ValueError, match=r"of 20,000 rows would take 3\.2 GB"):
        model.co_assignment(np.zeros((20_000, 2)))


def test_what_would_take_hours_is_refused_with_the_time(tiny_ncp, few, monkeypatch):
    with pytest.raises(ValueError, match=r"seating 1,000,000,000 points .* (hours|days)"):
        coterie.NCP(tiny_ncp)._as_set(np.broadcast_to(0.0, (1_000_000_000, 2)), 1)
    monkeypatch.setattr(samples, "LONGEST", 1e-9)
    with pytest.raises(ValueError, match=r"seating 60 points one after another, 10 times"):
        coterie.NCP(tiny_ncp).fit(few[0])


def test_a_table_that_would_be_labelled_for_hours_is_refused(tiny_ncp):
    rows = np.broadcast_to(np.float64(0.0), (10_000_000_000, 2))  # in no memory
    with pytest.raises(ValueError, match=r"labelling 10,000,000,000 rows, .* about .* hours"):
        coterie.NCP(tiny_ncp)._fit_sample(rows, "auto")
    assert CPU.double < CPU.single


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_accepts_it(tiny_ncp):
    check_estimator(coterie.NCP(tiny_ncp, n_samples=2))
