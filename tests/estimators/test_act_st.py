"""The estimator of ACT-ST on an untrained network: what holds whatever the weights are."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

import coterie
from coterie.data.batch import SetBatch
from coterie.estimators.act_st import ACTST
from coterie.estimators.registry import clusterer
from coterie.functional.em import expectation
from coterie.inference.rules.mixture import MixtureRule
from coterie.metrics import ari
from coterie.systems.registry import build
from coterie.weights.catalogue import open_model
from coterie.weights.format import make_card, save_system

SMALL = {"width": 16, "heads": 2, "slots": 4, "encoder_blocks": 1, "decoder_blocks": 1}
EVERY_ENDING = pytest.mark.parametrize("ending", ["consolidate", "em", "network"])


@pytest.fixture(scope="session")
def weights(tmp_path_factory) -> str:
    """A network that has learnt nothing and finds several clusters."""
    system = build("act_st", SMALL)
    generator = torch.Generator().manual_seed(7)
    for parameter in system.parameters():
        nn.init.normal_(parameter, std=0.5, generator=generator)
    with torch.no_grad():
        system.network.head.bias[0] = 3.0  # it goes on for some steps
    path = tmp_path_factory.mktemp("act_st") / "small.safetensors"
    save_system(path, system, make_card(system))
    return str(path)


def test_it_is_public_and_goes_with_its_weights(weights):
    assert coterie.ACTST is ACTST
    assert isinstance(clusterer(weights), ACTST)


@EVERY_ENDING
def test_predict_repeats_fit(blobs, weights, ending):
    model = ACTST(weights, ending=ending).fit(blobs.points)
    assert (model.predict(blobs.points) == model.labels_).all()
    np.testing.assert_allclose(
        model.predict_proba(blobs.points), model.probabilities_, rtol=0, atol=1e-12
    )
    assert model.trace_ == ()
    assert np.isfinite(model.clustering_.log_likelihood)


@EVERY_ENDING
def test_permuting_the_rows_permutes_the_labels(blobs, weights, ending):
    order = np.random.default_rng(0).permutation(300)
    labels = ACTST(weights, ending=ending).fit_predict(blobs.points)
    permuted = ACTST(weights, ending=ending).fit_predict(blobs.points[order])
    assert (permuted == labels[order]).all()


def test_the_likelihood_finds_what_the_network_does_not(blobs, weights):
    assert ari(blobs.labels, ACTST(weights).fit_predict(blobs.points)) == 1


def test_the_networks_own_answer_is_its_mixture(blobs, weights):
    model = ACTST(weights, ending="network").fit(blobs.points)
    assert model.n_clusters_ > 1
    rule = model.fitted_.rule
    assert isinstance(rule, MixtureRule)
    assert model.clustering_.log_likelihood == pytest.approx(_log_likelihood(weights, blobs.points))


@torch.no_grad()
def _log_likelihood(weights: str, points) -> float:
    """Under all clusters of the mixture, also those that are no point's most probable one."""
    batch = SetBatch.single(torch.tensor(points, dtype=torch.float32))
    mixture = open_model(weights)[0].cluster(batch).mixture
    return float(expectation(batch.points, mixture)[1].mean())


def test_a_column_of_padding_has_no_part_in_the_answer(blobs, weights):
    column = blobs.points[:, :1]
    model = ACTST(weights, ending="network").fit(column)
    assert model.fitted_.rule.mixture.mean.shape[1] == 1
    assert np.isfinite(model.clustering_.log_likelihood)


def test_rows_far_from_every_cluster_are_noise(blobs, weights):
    far = np.concatenate([blobs.points, [[500.0, 500.0]]])
    model = ACTST(weights, ending="network", noise=True).fit(far)
    assert model.labels_[-1] == -1
    assert model.predict([[-700.0, 0.0]]).tolist() == [-1]


@pytest.mark.parametrize("n_clusters", [1, 4])
def test_a_number_of_clusters_can_be_asked_for(blobs, weights, n_clusters):
    model = ACTST(weights, ending="network", n_clusters=n_clusters).fit(blobs.points)
    assert model.n_clusters_ == n_clusters


@EVERY_ENDING
def test_a_fitted_model_is_kept(blobs, weights, ending, tmp_path):
    model = ACTST(weights, ending=ending).fit(blobs.points)
    expected = model.predict_proba(blobs.points)
    assert (pickle.loads(pickle.dumps(model)).predict_proba(blobs.points) == expected).all()
    model.save(tmp_path / "model.safetensors")
    again = coterie.load(tmp_path / "model.safetensors")
    assert isinstance(again, ACTST)
    assert (again.predict_proba(blobs.points) == expected).all()


def test_the_number_of_clusters_has_probabilities(blobs, weights):
    model = ACTST(weights, ending="network").fit(blobs.points)
    assert model.k_probabilities_.sum() == pytest.approx(1)
    assert model.k_probabilities_[model.n_clusters_] > 0


def test_clone_keeps_the_settings(weights):
    model = clone(ACTST(weights, ending="network", n_clusters=(2, 4)))
    assert model.get_params()["n_clusters"] == (2, 4)
    assert "consolidate" not in model.get_params()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ending": "yes"}, "The 'ending' parameter of ACTST"),
        ({"context_size": 0}, "The 'context_size' parameter of ACTST"),
        ({"ending": "judge"}, "scale the columns themselves"),
        ({"weights": "dac-mog2d"}, "of the system 'dac', ACTST needs 'act_st'"),
    ],
)
def test_wrong_settings_are_refused(blobs, weights, settings, message):
    with pytest.raises(ValueError, match=message):
        ACTST(**{"weights": weights, **settings}).fit(blobs.points)


def test_values_that_are_no_numbers_are_refused(blobs, weights):
    wrong = blobs.points.copy()
    wrong[7, 1] = np.nan
    with pytest.raises(ValueError, match="row 7, column 1"):
        ACTST(weights).fit(wrong)


@EVERY_ENDING
def test_a_network_in_the_standard_frame_reads_any_units(blobs, tmp_path, ending):
    system = build("act_st", SMALL, frame="standard")
    path = tmp_path / "framed.safetensors"
    save_system(path, system, make_card(system))
    noise = np.random.default_rng(0).normal(size=(300, 1))
    table = np.hstack([1000 * blobs.points, noise])
    with pytest.warns(UserWarning, match="reads 2 columns, X has 3"):
        model = ACTST(path, ending=ending).fit(table)
    assert (model.predict(table) == model.labels_).all()
    assert np.isfinite(model.clustering_.log_likelihood)
