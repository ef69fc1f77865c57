from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.methods import ours, told_k
from bench.mog import mog_setting
from bench.sets import draw_sets
from coterie.estimators.amcp import AMCP
from coterie.estimators.dac import DAC
from coterie.metrics import ari
from coterie.weights.catalogue import find
from coterie.weights.format import load_system, save_system

RAW = "{}, as the network says"
ESTIMATORS = pytest.mark.parametrize(
    ("weights", "estimator"), [("dac-mog2d", DAC), ("amcp-mog2d", AMCP)]
)


@pytest.fixture(scope="module")
def points():
    return draw_sets(mog_setting(120, 3, k_limit=4), 1, seed=0)[0].points


@ESTIMATORS
def test_our_systems_answer_as_their_estimators_do(points, weights, estimator):
    answers = {method.name: method.cluster(points) for method in ours([weights])}
    np.testing.assert_array_equal(
        answers[weights].labels, estimator(weights=weights).fit(points).labels_
    )
    raw = estimator(weights=weights, ending="network").fit(points)
    np.testing.assert_array_equal(answers[RAW.format(weights)].labels, raw.labels_)


@ESTIMATORS
def test_only_the_network_itself_claims_a_likelihood(points, weights, estimator):
    consolidated, raw = (method.cluster(points) for method in ours([weights]))
    assert consolidated.network_log_likelihood is None
    expected = estimator(weights=weights, ending="network").fit(points).clustering_.log_likelihood
    assert raw.network_log_likelihood == expected


def test_a_model_without_a_density_has_nothing_to_consolidate_and_claims_nothing(points):
    (method,) = ours(["amcp-warped2d"])
    assert method.name == "amcp-warped2d"
    answer = method.cluster(points)
    np.testing.assert_array_equal(answer.labels, AMCP("amcp-warped2d").fit(points).labels_)
    assert answer.network_log_likelihood is None


def test_methods_come_in_the_order_of_the_weights_and_are_named_by_them():
    weights = ["amcp-warped2d", "dac-mog2d", "amcp-mog2d"]
    names = [method.name for method in ours(weights)]
    assert names == [
        weights[0],
        *(name.format(each) for each in weights[1:] for name in ("{}", RAW)),
    ]
    assert ours([]) == ()


def test_files_of_the_same_name_are_told_apart(small_amcp, tmp_path):
    other = tmp_path / Path(small_amcp).name
    other.write_bytes(Path(small_amcp).read_bytes())
    names = [method.name for method in ours([small_amcp, other])]
    assert len(set(names)) == 4


def test_samples_of_large_sets_are_the_same_in_every_run(tmp_path):
    system, card = load_system(find("amcp-warped2d"))
    path = tmp_path / "sampling.safetensors"
    save_system(path, system, replace(card, context_size=30))
    points = np.random.default_rng(0).normal(size=(600, 2)).astype(np.float32)
    answers = [method.cluster(points).labels for _ in range(3) for method in ours([path])]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_details_name_the_weights():
    for weights in ("dac-mog2d", "amcp-mog2d", "amcp-warped2d"):
        assert all(weights in method.details for method in ours([weights]))


def test_spectral_clustering_follows_shapes():
    angle = np.linspace(0, 2 * np.pi, 150, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], 1)
    points = np.concatenate([ring, 3 * ring]).astype(np.float32)
    assert ari(np.repeat([0, 1], 150), told_k(2).cluster(points).labels) == 1
