"""The estimators among the tools that people use around them."""

import pickle

import cloudpickle
import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.metrics import silhouette_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import coterie
from coterie.metrics import ari

BOTH = pytest.mark.parametrize("estimator", [coterie.AMCP, coterie.DAC])


def silhouette(model, X, y=None):
    """A score that needs no truth; one cluster is worth nothing."""
    labels = model.predict(X)
    return silhouette_score(X, labels) if len(np.unique(labels)) > 1 else -1.0


@BOTH
def test_memberships_are_a_transformation(blobs, estimator):
    model = estimator()
    memberships = model.fit_transform(blobs.points)
    np.testing.assert_array_equal(memberships, model.transform(blobs.points))
    np.testing.assert_array_equal(memberships, model.predict_proba(blobs.points))
    assert memberships.shape == (300, 3)
    name = estimator.__name__.lower()
    assert model.get_feature_names_out().tolist() == [f"{name}{k}" for k in range(3)]


@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output_gives_the_kind_that_was_asked_for(blobs, kind, frame):
    X = frame({"x": blobs.points[:, 0], "y": blobs.points[:, 1]})
    model = coterie.AMCP().set_output(transform=kind)
    memberships = model.fit_transform(X)
    assert isinstance(memberships, frame)
    assert list(memberships.columns) == ["amcp0", "amcp1", "amcp2"]
    np.testing.assert_array_equal(memberships.to_numpy(), model.predict_proba(X))


def test_a_data_frame_keeps_its_index(blobs):
    X = pd.DataFrame(blobs.points, columns=["x", "y"], index=np.arange(300) + 1000)
    memberships = coterie.AMCP().set_output(transform="pandas").fit_transform(X)
    assert memberships.index.equals(X.index)


def test_the_last_step_of_a_pipeline_labels_and_predicts(blobs):
    shifted = 40 * blobs.points + 7
    pipeline = make_pipeline(FunctionTransformer(lambda X: (X - 7) / 40), coterie.AMCP())
    labels = pipeline.fit_predict(shifted)
    np.testing.assert_array_equal(labels, coterie.AMCP().fit_predict((shifted - 7) / 40))
    np.testing.assert_array_equal(pipeline.predict(shifted[:5]), labels[:5])


def test_memberships_feed_a_further_step(blobs):
    pipeline = make_pipeline(coterie.AMCP(), StandardScaler()).set_output(transform="pandas")
    scaled = pipeline.fit_transform(pd.DataFrame(blobs.points, columns=["x", "y"]))
    assert list(scaled.columns) == ["amcp0", "amcp1", "amcp2"]
    np.testing.assert_allclose(scaled.mean(), 0, atol=1e-9)


def test_columns_are_chosen_by_name(blobs):
    X = pd.DataFrame({"x": blobs.points[:, 0], "name": "somebody", "y": blobs.points[:, 1]})
    chosen = ColumnTransformer([("groups", coterie.AMCP(), ["x", "y"])])
    memberships = chosen.set_output(transform="pandas").fit_transform(X)
    assert list(memberships.columns) == ["groups__amcp0", "groups__amcp1", "groups__amcp2"]


def test_a_grid_is_searched_without_a_truth(blobs):
    search = GridSearchCV(
        coterie.AMCP(),
        {"weights": ["amcp-mog2d", "amcp-warped2d"], "ending": ["auto"]},
        scoring=silhouette,
        cv=2,
    )
    shuffled = np.random.default_rng(0).permutation(300)
    search.fit(blobs.points[shuffled])
    assert set(search.best_params_) == {"weights", "ending"}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert ari(blobs.labels[shuffled], search.predict(blobs.points[shuffled])) > 0.95


@BOTH
def test_a_clone_has_the_settings_and_not_the_fit(blobs, estimator):
    model = estimator(context_size=123, random_state=4).fit(blobs.points)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "labels_")


@BOTH
@pytest.mark.parametrize("module", [pickle, cloudpickle])
def test_a_pickled_model_predicts_the_same(blobs, estimator, module):
    model = estimator().fit(blobs.points)
    again = module.loads(module.dumps(model))
    np.testing.assert_array_equal(again.predict(blobs.points), model.labels_)
    np.testing.assert_array_equal(again.transform(blobs.points), model.transform(blobs.points))


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_models_fit_side_by_side(blobs, backend):
    sets = [blobs.points + shift for shift in (0.0, 0.1, 0.2, 0.3)]
    alone = [coterie.AMCP().fit_predict(points) for points in sets]
    together = Parallel(n_jobs=2, backend=backend)(
        delayed(coterie.AMCP().fit_predict)(points) for points in sets
    )
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
