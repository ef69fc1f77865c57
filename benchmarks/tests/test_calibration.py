import json
from types import SimpleNamespace

import numpy as np
import pytest

from bench import calibration
from bench.calibration import judge, run_calibration
from bench.suite import SuiteSet
from coterie.inference.result import Clustering

LABELS = np.array([0, 0, 0, 1, 1, -1])
POINTS = np.arange(12, dtype=np.float32).reshape(6, 2)


class Model:
    """An estimator that says the same of every set: clusters the other way round, one point off."""

    def __init__(self):
        self.seen = []

    def fit(self, points):
        self.seen.append(points)
        sure = np.array([0.9, 0.8, 0.6, 0.7, 1.0, 0.5])
        labels = np.array([1, 0, 1, 0, 0, 0])
        memberships = np.where(labels[:, None] == [0, 1], sure[:, None], 1 - sure[:, None])
        clustering = Clustering(labels, memberships, None, ())
        return SimpleNamespace(clustering_=clustering)


def test_names_of_clusters_do_not_matter_and_noise_is_not_scored():
    found = judge(Model(), SuiteSet("s", "blobs", POINTS, LABELS))
    assert found.n_points == 5
    assert found.share_right == pytest.approx(4 / 5)  # the second point is with the others
    assert found.mean_confidence == pytest.approx((0.9 + 0.8 + 0.6 + 0.7 + 1.0) / 5)
    assert found.calibration_error == pytest.approx((0.1 + 0.8 + 0.4 + 0.3 + 0.0) / 5)


@pytest.fixture
def models(monkeypatch):
    """Two families of two sets, and models that need no weights."""
    models = {}

    def draw(n_sets, seed):
        assert (n_sets, seed) == (2, 5)
        return tuple(
            SuiteSet(f"{kind} {number}", kind, POINTS + number, LABELS)
            for kind in ("roads", "blobs")
            for number in range(n_sets)
        )

    def make(name, random_state):
        assert random_state == 0
        return models.setdefault(name, Model())

    monkeypatch.setattr(calibration, "FAMILIES", ("roads", "blobs"))
    monkeypatch.setattr(calibration, "held_out_sets", draw)
    monkeypatch.setattr(calibration, "clusterer", make)
    return models


def test_every_model_is_asked_about_every_set(models):
    told = []
    report = run_calibration(["one", "other"], 2, 5, lambda *news: told.append(news))
    assert told == [(name, done, 4) for name in ("one", "other") for done in (1, 2, 3, 4)]
    assert all(len(model.seen) == 4 for model in models.values())
    data = report.to_json()
    assert data["command"] == (
        "python benchmarks calibration --sets 2 --seed 5 --weights one --weights other"
    )
    assert [found["points"] for found in data["models"]["one"].values()] == [10, 10, 20]
    assert data["models"]["one"]["all"]["ece"] == pytest.approx(0.32)
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_tables_have_a_line_for_each_family_and_one_for_all(models):
    (table,) = run_calibration(["one"], 2, 5).tables()
    assert [row[0] for row in table.rows] == ["roads", "blobs", "all"]
    assert table.rows[0] == ["roads", "10", "0.800", "0.800", "0.320"]
    assert {len(row) for row in table.rows} == {len(table.header)}


def test_a_real_model_is_judged_without_its_remarks():
    points = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    points[30:] += 12
    given = SuiteSet("far apart", "blobs", points, np.repeat([0, 1], 30))
    found = judge(calibration.clusterer("amcp-universal", random_state=0), given)
    assert found.share_right == 1
    assert found.calibration_error < 0.1
    assert judge(calibration.clusterer("amcp-mog2d"), given).n_points == 60  # reads two columns
