import json

import numpy as np
import pytest

from bench import families
from bench.families import FamiliesPlan, run_families
from bench.held_out import FAMILIES
from bench.suite import SuiteSet
from bench.tables import Entrant
from coterie.comparison.methods import Answer, Method

PLAN = FamiliesPlan(("amcp-warped2d",), n_sets=1, k_limit=3)


def a_set(family, number):
    labels = np.repeat([0, 1, -1], [30, 30, 4])
    noise = np.random.default_rng(number).normal(size=(64, 2))
    points = 9.0 * labels[:, None] * [1, 1] + noise
    return SuiteSet(f"{family} {number}", family, points.astype(np.float32), labels)


@pytest.fixture
def asked(monkeypatch):
    """Two families of two clusters that nobody can miss; gives what was drawn."""
    asked = []

    def draw(n_sets, seed):
        asked.append((n_sets, seed))
        return tuple(a_set(name, number) for name in ("roads", "blobs") for number in range(n_sets))

    monkeypatch.setattr(families, "held_out_sets", draw)
    return asked


def test_everybody_is_asked_about_sets_that_the_plan_names(asked, tmp_path):
    report = run_families(FamiliesPlan(("amcp-warped2d",), 2, 7, 3), tmp_path / "f.jsonl")
    assert asked == [(2, 7)]
    assert [row.name for row in report.rows] == [
        "amcp-warped2d",
        "GaussianMixture + BIC",
        "BayesianGaussianMixture",
        "HDBSCAN",
        "k-means + silhouette",
        "spectral clustering, told k",
    ]
    assert report.kinds == ("roads", "blobs")
    assert report.ceilings == (1, 1, 1, 1)
    kmeans = report.rows[4]
    assert [kept.run.scores["ari"] for kept in kmeans.scored] == [1, 1, 1, 1]
    data = report.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_ours_get_the_points_as_they_are_and_peers_with_standardised_columns(
    asked, tmp_path, monkeypatch
):
    seen = []

    def cluster(points):
        seen.append(points)
        return Answer(np.zeros(len(points), dtype=int))

    method = Method("mine", "as it comes", cluster)
    entrant = Entrant("mine", "as it comes", "1", lambda given: method, is_ours=True)
    monkeypatch.setattr(families, "our_entrants", lambda weights: (entrant,))
    report = run_families(PLAN, tmp_path / "f.jsonl")
    np.testing.assert_array_equal(seen[-1], a_set("blobs", 0).points)
    assert ["standardised" in row.details for row in report.rows] == [False, *[True] * 5]


def test_runs_of_peers_are_used_again_and_ours_are_not(asked, tmp_path):
    path = tmp_path / "f.jsonl"
    first = run_families(PLAN, path)
    second = run_families(PLAN, path)
    mine, *others = zip(first.rows, second.rows, strict=True)
    assert mine[0].scored[0].run.seconds != mine[1].scored[0].run.seconds
    for before, after in others:
        assert before.scored == after.scored


def test_peers_search_as_far_as_the_prior_goes():
    assert FamiliesPlan().k_limit == 32
    assert FamiliesPlan().weights == ("amcp-universal",)


@pytest.mark.slow
def test_the_sets_of_the_prior_are_answered(tmp_path):
    report = run_families(PLAN, tmp_path / "f.jsonl")
    assert report.kinds == FAMILIES
    assert all(0.5 < each <= 1 for each in report.ceilings)
