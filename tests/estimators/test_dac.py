import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie.estimators.dac import DAC
from coterie.metrics import ari
from coterie.weights.catalogue import find
from coterie.weights.format import WeightsError, load_tensors, save_tensors

BOTH = pytest.mark.parametrize("ending", ["consolidate", "network"])


@pytest.mark.filterwarnings("ignore:the network reads 2 columns:UserWarning")
@parametrize_with_checks([DAC()])
@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@BOTH
def test_finds_the_blobs(blobs, ending):
    model = DAC(ending=ending).fit(blobs.points)
    assert model.n_clusters_ == 3
    assert np.bincount(model.labels_).tolist() == [150, 100, 50]
    assert ari(blobs.labels, model.labels_) == 1


@BOTH
def test_predict_repeats_fit(blobs, ending):
    model = DAC(ending=ending).fit(blobs.points)
    assert (model.predict(blobs.points) == model.labels_).all()
    assert (DAC(ending=ending).fit_predict(blobs.points) == model.labels_).all()
    np.testing.assert_allclose(
        model.predict_proba(blobs.points), model.probabilities_, rtol=0, atol=1e-12
    )


@BOTH
def test_predict_labels_new_points(blobs, ending):
    model = DAC(ending=ending).fit(blobs.points)
    assert model.predict([[-4.0, -2.0], [4.0, -2.0], [0.0, 5.0]]).tolist() == [0, 1, 2]


@BOTH
def test_permuting_the_rows_permutes_the_labels(blobs, ending):
    order = np.random.default_rng(0).permutation(300)
    labels = DAC(ending=ending).fit_predict(blobs.points)
    permuted = DAC(ending=ending).fit_predict(blobs.points[order])
    assert (permuted == labels[order]).all()


@BOTH
def test_the_result_is_kept_as_a_clustering(blobs, ending):
    model = DAC(ending=ending).fit(blobs.points)
    assert model.clustering_.labels is model.labels_
    assert model.clustering_.warnings == ()
    assert len(model.clustering_.steps) == 3
    assert np.isfinite(model.clustering_.log_likelihood)


@BOTH
def test_pickle_keeps_the_rule(blobs, ending):
    model = DAC(ending=ending).fit(blobs.points)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(blobs.points) == model.predict_proba(blobs.points)).all()


def test_clone_keeps_the_settings_and_nothing_else(blobs):
    settings = {"ending": "network", "context_size": 50, "random_state": 3}
    copy = clone(DAC(**settings).fit(blobs.points))
    assert {name: copy.get_params()[name] for name in settings} == settings
    assert not hasattr(copy, "labels_")


def test_fits_again_from_scratch(blobs):
    model = DAC().fit(blobs.points)
    model.fit(blobs.points[blobs.labels == 0])
    assert model.n_clusters_ == 1
    assert len(model.labels_) == 150


def test_goes_into_a_pipeline(blobs):
    labels = make_pipeline(StandardScaler(), DAC()).fit_predict(blobs.points)
    assert ari(blobs.labels, labels) == 1


def test_a_context_is_drawn_by_the_random_state(blobs):
    def offered(seed):
        model = DAC(context_size=100, random_state=seed).fit(blobs.points)
        assert ari(blobs.labels, model.labels_) == 1
        return model.clustering_.steps[0].offered

    assert (offered(0) == offered(0)).all()
    assert (offered(0) != offered(1)).any()


@BOTH
def test_one_point_is_a_cluster(ending):
    model = DAC(ending=ending).fit([[3.0, 4.0]])
    assert model.labels_.tolist() == [0]
    assert model.probabilities_.tolist() == [[1.0]]


@BOTH
def test_equal_points_are_a_cluster(ending):
    assert DAC(ending=ending).fit(np.full((40, 2), 1.5)).n_clusters_ == 1


def test_one_column_is_enough(blobs):
    model = DAC().fit(blobs.points[:, :1])
    assert ari(blobs.labels, model.labels_) == 1


def test_padding_has_no_part_in_the_likelihood(blobs):
    column = blobs.points[:, :1]
    model = DAC().fit(column)
    reference = GaussianMixture(model.n_clusters_, covariance_type="diag", random_state=0)
    expected = reference.fit(column).score(column)  # the best that one column can have
    assert model.clustering_.log_likelihood == pytest.approx(expected, abs=0.02)


def test_too_many_columns_are_projected_with_a_warning(blobs):
    noise = np.random.default_rng(0).normal(0, 0.01, (300, 3))
    with pytest.warns(UserWarning, match="reads 2 columns, X has 5") as caught:
        model = DAC().fit(np.hstack([noise, blobs.points]))
    assert ari(blobs.labels, model.labels_) == 1
    assert model.clustering_.warnings == (str(caught[0].message),)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("rows", [1, 2, 40])
@pytest.mark.filterwarnings("ignore:the network reads 2 columns:UserWarning")
@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
def test_equal_points_of_many_columns_are_a_cluster(rows):
    assert DAC().fit(np.full((rows, 5), 0.1)).n_clusters_ == 1


@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
def test_integers(blobs):
    whole = np.rint(10 * blobs.points)
    assert (DAC().fit_predict(whole.astype(int)) == DAC().fit_predict(whole)).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_other_floats(blobs, dtype):
    assert ari(blobs.labels, DAC().fit_predict(blobs.points.astype(dtype))) == 1


def test_read_only_and_strided_arrays(blobs):
    assert not blobs.points.flags.writeable
    turned = np.asfortranarray(np.repeat(blobs.points, 2, axis=0))[::2]
    assert (DAC().fit_predict(turned) == DAC().fit_predict(blobs.points)).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames(blobs, frame):
    table = frame({"x": blobs.points[:, 0].copy(), "y": blobs.points[:, 1].copy()})
    model = DAC().fit(table)
    assert (model.labels_ == DAC().fit(blobs.points).labels_).all()
    assert (model.predict(table) == model.labels_).all()
    assert model.feature_names_in_.tolist() == ["x", "y"]


@pytest.mark.parametrize("method", ["fit", "predict"])
@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (np.inf, "inf")])
def test_non_finite_values_are_refused(blobs, method, value, kind):
    wrong = blobs.points.copy()
    wrong[7, 1] = value
    with pytest.raises(ValueError, match=rf"contains .*{kind}.*row 7, column 1"):
        getattr(DAC().fit(blobs.points), method)(wrong)


def test_an_infinite_value_of_a_frame_is_placed_by_name(blobs):
    table = pd.DataFrame(blobs.points, columns=["x", "y"])
    table.loc[7, "y"] = np.inf
    with pytest.raises(ValueError, match=r"contains infinity .*: row 7, column 'y'"):
        DAC().fit(table)


@pytest.mark.parametrize("size", [1e16, 1e30, 1e300])
def test_huge_values_are_refused(blobs, size):
    wrong = blobs.points.copy()
    wrong[7, 1] = size
    with pytest.raises(ValueError, match=r"row 7, column 1; .* scale X down"):
        DAC().fit(wrong)


@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
def test_large_values_are_not(blobs):
    assert np.isfinite(DAC().fit(1e14 * blobs.points).probabilities_).all()


@pytest.mark.parametrize("empty", [np.empty((0, 2)), np.empty((3, 0)), []])
def test_an_empty_table_is_refused(empty):
    with pytest.raises(ValueError, match=r"0 sample|0 feature|Expected 2D"):
        DAC().fit(empty)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_text_that_fit_has_not_seen_is_refused_with_the_name_of_its_column(blobs, frame):
    model = DAC().fit(blobs.points)
    with pytest.raises(ValueError, match="not numbers: 'name'"):
        model.predict(frame({"x": [1.0, 2.0], "name": ["a", "b"]}))


@pytest.mark.parametrize("odd", [np.ma.masked_invalid, lambda x: x.astype("datetime64[s]")])
def test_odd_arrays_are_refused(blobs, odd):
    with pytest.raises(ValueError, match=r"masked array|array of dates"):
        DAC().fit(odd(blobs.points))


def test_another_number_of_columns_is_refused(blobs):
    with pytest.raises(ValueError, match="X has 3 features, but DAC is expecting 2"):
        DAC().fit(blobs.points).predict(np.zeros((4, 3)))


def test_weights_of_another_system_are_refused(blobs, monkeypatch):
    monkeypatch.setattr(DAC, "system", "another")
    with pytest.raises(
        ValueError, match=r"'dac-mog2d' are of the system 'dac', DAC needs 'another'"
    ):
        DAC().fit(blobs.points)


def test_unknown_weights_are_refused_with_the_shipped_ones(blobs):
    with pytest.raises(WeightsError, match=r"no model 'dak'; shipped: .*dac-mog2d"):
        DAC("dak").fit(blobs.points)


def test_damaged_weights_are_refused(blobs, tmp_path):
    tensors, header = load_tensors(find("dac-mog2d"))
    tensors["network.membership_head.bias"] *= np.nan
    save_tensors(tmp_path / "mine.safetensors", tensors, header)
    with pytest.raises(WeightsError, match=r"membership_head\.bias is not made of finite numbers"):
        DAC(tmp_path / "mine.safetensors").fit(blobs.points)


@pytest.mark.parametrize(
    "settings",
    [
        {"context_size": 0},
        {"ending": "yes"},
        {"ending": None},
        {"consolidate": "yes"},
        {"weights": 3},
        {"device": None},
    ],
)
def test_settings_out_of_range_are_refused_by_name(blobs, settings):
    with pytest.raises(ValueError, match=f"The '{next(iter(settings))}' parameter of DAC"):
        DAC(**settings).fit(blobs.points)
