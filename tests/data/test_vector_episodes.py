"""Labelled sets of vectors from the public collections."""

import os

import numpy as np
import pytest
import torch

from coterie.data import vector_episodes, vector_pools
from coterie.data.vector_episodes import VectorEpisodes
from coterie.data.vector_pools import VECTOR_POOLS, VectorPool, open_vectors

needs_data = pytest.mark.skipif(
    not os.environ.get("COTERIE_DATA"), reason="needs the collections of COTERIE_DATA"
)


@pytest.fixture
def three_classes(monkeypatch):
    """A pool of three classes whose vectors tell their class and their number."""
    counts = np.array([4, 2, 3])
    label = np.repeat(np.arange(3), counts)
    vectors = np.stack([label, np.arange(9)], 1).astype(np.float32)
    pool = VectorPool(vectors, counts, ("a", "b", "c"))
    monkeypatch.setattr(vector_episodes, "open_vectors", lambda name: pool)
    vector_episodes._bank.cache_clear()
    yield pool
    vector_episodes._bank.cache_clear()


def test_points_of_a_label_are_of_one_class(three_classes):
    batch = VectorEpisodes("any", n_max=50, k_max=2).sample(20, torch.Generator().manual_seed(0))
    assert batch.points.shape == (20, 50, 2)
    for points, labels in zip(batch.points, batch.labels, strict=True):
        classes = [set(points[labels == label, 0].tolist()) for label in (0, 1)]
        assert all(len(each) <= 1 for each in classes)
        assert not classes[0] & classes[1]
    assert set(batch.points[..., 0][batch.mask].tolist()) == {0, 1, 2}  # over many sets all
    assert (batch.points[~batch.mask] == 0).all()
    assert set(batch.points[..., 1][batch.mask].tolist()) == set(range(9))


def test_the_seed_decides(three_classes):
    prior = VectorEpisodes("any", n_max=9, k_max=3, scale=2.0, noise=0.1)
    one, two, other = (prior.sample(2, torch.Generator().manual_seed(i)).points for i in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_more_classes_than_there_are_are_refused(three_classes):
    with pytest.raises(ValueError, match="any has 3 classes, not 4"):
        VectorEpisodes("any", n_max=9, k_max=4).sample(1, torch.Generator())


def test_unknown_pools_are_refused():
    with pytest.raises(ValueError, match=r"unknown pool 'nowhere'; known: har-test, har-train"):
        open_vectors("nowhere")


@needs_data
@pytest.mark.parametrize(
    ("name", "n_vectors", "columns", "n_classes"),
    [
        ("har-train", 7415, 561, 6),
        ("har-test", 2996, 561, 6),
        ("reuters-train", 5485, 2000, 8),
        ("reuters-test", 2189, 2000, 8),
    ],
)
def test_the_pools_are_those_of_the_literature(name, n_vectors, columns, n_classes):
    pool = VECTOR_POOLS[name](vector_pools.data_folder(name))
    assert pool.vectors.shape == (n_vectors, columns)
    assert pool.counts.sum() == n_vectors
    assert (pool.counts > 0).all()
    assert len(pool.class_names) == len(pool.counts) == n_classes
    assert np.isfinite(pool.vectors).all()
    if name.startswith("reuters"):
        np.testing.assert_allclose(np.linalg.norm(pool.vectors, axis=1), 1, rtol=1e-5)
        assert sorted(pool.class_names) == sorted(vector_pools.R8)
