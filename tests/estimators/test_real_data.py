import os
from pathlib import Path

import numpy as np
import pytest

import coterie
from coterie.metrics import ari

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def suite():
    folder = os.environ.get("COTERIE_DATA")
    if folder is None:
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")
    return np.load(Path(folder) / "clustering_suite.npz")


@pytest.mark.parametrize("name", ["wut_mk1", "wut_x1", "wut_z2"])
def test_public_sets_of_gaussian_clusters(suite, name):
    points, labels = suite[f"{name}__X"], suite[f"{name}__y"]
    points = 3 * (points - points.mean(0)) / points.std(0).mean()  # the scale of the training sets
    assert ari(labels, coterie.cluster(points)) > 0.95
