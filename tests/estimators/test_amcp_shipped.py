"""What the shipped models find, and that nothing but the points decides it."""

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import Generator

import coterie
from coterie.estimators.amcp import AMCP
from coterie.estimators.registry import DEFAULT, clusterer
from coterie.inference.assignment import apply_labels
from coterie.inference.config import InferenceConfig
from coterie.inference.endings import choose_ending
from coterie.inference.engine import cluster_points
from coterie.inference.rules.mixture import MixtureRule
from coterie.inference.rules.replay import ReplayRule
from coterie.metrics import ari
from coterie.training.presets import preset
from coterie.weights.catalogue import models, open_model

CENTRES = np.array([[-4.0, -2.0], [4.0, -2.0], [0.0, 5.0], [0.5, 0.5]])
SHIPPED = [model.name for model in models() if model.card.system == "amcp" and model.reads_tables]
SPECIALISTS = [name for name in SHIPPED if not name.startswith(DEFAULT)]
BOTH = pytest.mark.parametrize("ending", ["consolidate", "network"])


def easy(k: int, seed: int = 0):
    """k clusters that nobody can miss, of 60, 70, ... points, and who belongs where."""
    labels = np.repeat(np.arange(k), 60 + 10 * np.arange(k))
    noise = np.random.default_rng(seed).normal(scale=0.25, size=(len(labels), 2))
    return CENTRES[labels] + noise, labels


@pytest.mark.filterwarnings("ignore:the network reads:UserWarning")
@parametrize_with_checks([AMCP(), AMCP("amcp-mog2d", ending="network")])
@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_the_default_is_a_shipped_model():
    assert coterie.AMCP is AMCP
    assert AMCP().weights == DEFAULT == "amcp-universal"
    assert {"amcp-universal", "amcp-mog2d", "amcp-mog2d-wide", "amcp-warped2d"} <= set(SHIPPED)


@BOTH
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_finds_the_clusters_of_an_easy_set(k, ending):
    points, labels = easy(k)
    model = coterie.AMCP("amcp-mog2d", ending=ending).fit(points)
    assert model.n_clusters_ == len(model.trace_) == k
    assert ari(labels, model.labels_) == 1
    assert model.predict(CENTRES[:k]).tolist() == list(range(k))[::-1]  # the largest is first


@pytest.mark.parametrize(
    ("name", "ending", "n_seen"),
    [
        ("amcp-mog2d", "consolidate", 128),
        ("amcp-mog2d", "em", 300),
        ("amcp-mog2d", "network", 300),
        ("amcp-mog2d-wide", "auto", 300),
        ("amcp-warped2d", "auto", 300),
    ],
)
def test_a_network_that_only_proposes_sees_some_of_the_rows(name, ending, n_seen):
    points, labels = easy(4)
    points, labels = points[:300], labels[:300]
    model = coterie.AMCP(name, ending=ending).fit(points)
    assert len(model.trace_[0].offered) == n_seen
    assert len(model.labels_) == len(points)
    if name == "amcp-mog2d":
        assert ari(labels, model.labels_) == 1


@pytest.mark.parametrize("name", SPECIALISTS)
def test_a_model_clusters_what_it_was_trained_on(name):
    batch = preset(name).prior.sample(8, Generator().manual_seed(2026))
    model = clusterer(name)
    scores = [
        ari(labels[mask], model.fit_predict(points[mask].numpy()))
        for points, labels, mask in zip(batch.points, batch.labels, batch.mask, strict=True)
    ]
    assert np.mean(scores) > 0.9, scores


RULES = {
    "mixture": ("amcp-mog2d", "consolidate", MixtureRule),
    "replay": ("amcp-mog2d", "network", ReplayRule),
    "replay without a density": ("amcp-warped2d", "auto", ReplayRule),
}


@cache
def crowded():
    """Clusters, and points between them that could go either way."""
    points, _ = easy(4)
    between = np.random.default_rng(1).uniform(-5, 6, (30, 2))
    return np.concatenate([points[::4], between]).astype(np.float32)


def in_chunks(kind: str, chunk_size: int):
    weights, ending, _ = RULES[kind]
    system, card = open_model(weights)
    config = InferenceConfig(choose_ending(ending, card.traits), chunk_size=chunk_size)
    return cluster_points(system, crowded(), config, np.random.RandomState(0))


@cache
def in_one_piece(kind: str):
    return in_chunks(kind, 65_536)


@pytest.mark.parametrize("kind", RULES)
@given(chunk_size=st.integers(1, 120))
@example(chunk_size=1)
@settings(max_examples=8)
def test_chunks_of_any_size_give_the_same_labels(kind, chunk_size):
    expected, rule, *_ = in_one_piece(kind)
    found = in_chunks(kind, chunk_size).clustering
    assert type(rule) is RULES[kind][2]
    assert (found.labels == expected.labels).all()
    np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=0, atol=1e-12)
    assert found.log_likelihood == expected.log_likelihood
    assert (apply_labels(rule, crowded(), chunk_size) == expected.labels).all()
