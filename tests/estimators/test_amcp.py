from dataclasses import replace

import numpy as np
import pytest
import torch

from coterie.estimators.amcp import AMCP
from coterie.estimators.dac import DAC
from coterie.estimators.registry import cluster, clusterer
from coterie.systems.amcp import steps as system
from coterie.systems.amcp.config import AMCPConfig
from coterie.weights.format import WeightsError, make_card, save_system

SMALL = AMCPConfig(width=16, read_width=16, heads=2, references=4, em_steps=2, encoder_blocks=1)
NETWORKS = {
    "column": SMALL,
    "regular": replace(SMALL, e_step="regular"),
    "once": replace(SMALL, encode_every=0, decoder_blocks=0, questions=2, coupling=True),
    "free": replace(SMALL, density="none"),
    "anchored": replace(SMALL, proposal="anchor", encode_every=0, coupling=True, questions=2),
    "anchored-free": replace(SMALL, proposal="anchor", encode_every=0, density="none"),
    "anchored-anew": replace(SMALL, proposal="anchor", encode_every=2),
}


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Untrained networks: what they find is no matter, that everything fits together is."""
    folder = tmp_path_factory.mktemp("weights")
    for name, config in NETWORKS.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = system.AMCP(config)
        save_system(folder / f"{name}.safetensors", network, make_card(network))
    return {name: folder / f"{name}.safetensors" for name in NETWORKS}


@pytest.mark.parametrize("ending", ["auto", "network"])
@pytest.mark.parametrize("name", NETWORKS)
def test_fit_predict_is_fit_and_predict(weights, blobs, name, ending):
    model = AMCP(weights[name], ending=ending)
    labels = model.fit_predict(blobs.points)
    assert np.array_equal(labels, model.predict(blobs.points))
    assert np.allclose(model.predict_proba(blobs.points), model.probabilities_)
    assert set(labels) == set(range(model.n_clusters_))


@pytest.mark.parametrize("name", NETWORKS)
def test_trace_holds_what_each_step_claimed(weights, blobs, name):
    model = AMCP(weights[name]).fit(blobs.points)
    claimed = np.concatenate([step.claimed for step in model.trace_])
    assert len(claimed) == len(set(claimed)) <= len(blobs.points)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_order_of_the_rows_is_no_matter(weights, blobs, name):
    order = np.random.default_rng(0).permutation(len(blobs.points))
    model = AMCP(weights[name], ending="network")
    labels, probabilities = model.fit_predict(blobs.points), model.probabilities_
    assert np.array_equal(model.fit_predict(blobs.points[order]), labels[order])
    assert np.allclose(model.probabilities_, probabilities[order], atol=1e-5)


@pytest.mark.parametrize("name", ["column", "anchored"])
def test_em_steps_can_be_changed(weights, blobs, name):
    model = AMCP(weights[name], ending="network")
    before = model.fit(blobs.points).trace_[0].probabilities
    after = model.set_params(n_em_steps=5).fit(blobs.points).trace_[0].probabilities
    assert not np.array_equal(before, after)


def test_the_e_step_can_be_changed_where_the_weights_serve_it(weights, blobs):
    model = AMCP(weights["regular"], ending="network")
    before = model.fit(blobs.points).trace_[0].probabilities
    after = model.set_params(e_step="ot").fit(blobs.points).trace_[0].probabilities
    assert not np.array_equal(before, after)
    with pytest.raises(WeightsError, match=r"column.safetensors does not fit e_step='ot'"):
        AMCP(weights["column"], e_step="ot").fit(blobs.points)


@pytest.mark.parametrize("name", ["once", "anchored"])
def test_re_estimated_clusters_all_stay(weights, blobs, name):
    # The likelihood of the re-estimated mixture, without a removal, is at least the network's own.
    raw = AMCP(weights[name], ending="network").fit(blobs.points)
    updated = AMCP(weights[name], ending="em").fit(blobs.points)
    assert updated.clustering_.log_likelihood > raw.clustering_.log_likelihood
    assert len(updated.trace_) == len(raw.trace_)


@pytest.mark.parametrize("wrong", [{"e_step": "magic"}, {"n_em_steps": -1}, {"n_em_steps": 1.5}])
def test_wrong_settings_are_refused(weights, blobs, wrong):
    with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter"):
        AMCP(weights["column"], **wrong).fit(blobs.points)


def test_weights_of_another_system_are_refused(blobs):
    with pytest.raises(ValueError, match="'dac-mog2d' are of the system 'dac'"):
        AMCP("dac-mog2d").fit(blobs.points)


def test_weights_choose_their_estimator(weights, blobs):
    assert type(clusterer(weights["once"])) is AMCP
    assert type(clusterer()) is AMCP
    assert type(clusterer("dac-mog2d")) is DAC
    labels = AMCP(weights["once"]).fit_predict(blobs.points)
    assert np.array_equal(cluster(blobs.points, weights["once"]), labels)


def test_sampled_partitions_follow_the_memberships(blobs):
    points = np.concatenate([blobs.points, blobs.points * 0.1])  # the second half is crowded
    model = DAC(ending="network").fit(points)
    draws = model.sample_partitions(4000, random_state=0)
    assert draws.shape == (4000, len(points))
    frequency = (draws[..., None] == np.arange(model.n_clusters_)).mean(0)
    assert np.abs(frequency - model.probabilities_).max() < 5 * 0.5 / np.sqrt(4000)
    assert np.array_equal(draws, model.sample_partitions(4000, random_state=0))
