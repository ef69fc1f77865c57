import json

import numpy as np
import pytest

from bench.ledger import Kept
from bench.scores import Run
from bench.suite import SuiteSet
from bench.tables_report import Row, TablesReport

SIZES = {"a": 10, "b": 2000, "c": 5000}
KINDS = {"a": "shapes", "b": "shapes", "c": "tables"}


def kept(ari, k_error, seconds, date="2026-01-01", busy=0.5):
    scores = {"ari": ari, "nmi": ari, "acc": ari, "k_mae": k_error, "k_found": 2 + k_error}
    return Kept(Run(scores, seconds), date, busy)


@pytest.fixture
def report():
    suite = tuple(
        SuiteSet(
            name, KINDS[name], np.zeros((size, 2), np.float32), np.r_[-1, np.arange(size - 1) % 2]
        )
        for name, size in SIZES.items()
    )
    ours = {
        1: (kept(1.0, 0.0, 1.0, busy=0.0), kept(0.5, 1.0, 2.0), kept(0.0, 3.0, 8.0)),
        2: (kept(1.0, 0.0, 0.5), kept(0.5, 1.0, 1.0), kept(0.0, 3.0, 4.0)),
    }
    old = (kept(0.2, 2.0, 3.0, "2025-01-01", None),) * 3
    rows = (
        Row("mine", "d", True, False, ours),
        Row("spectral", "d", False, True, {1: old, 2: old}),
    )
    return TablesReport("command", "2026-01-01", {"cpu": "x"}, 30, suite, rows)


def test_means_shares_and_medians(report):
    mine = report.to_json()["methods"][0]
    metrics = mine["all"]["metrics"]
    assert metrics["ari"]["mean"] == pytest.approx(0.5)
    assert metrics["k_exact"]["mean"] == pytest.approx(1 / 3)
    assert metrics["k_within_one"]["mean"] == pytest.approx(2 / 3)
    assert mine["seconds_median"] == {"1": 2.0, "2": 1.0}
    assert mine["seconds_median_of_1000_to_10000_points"] == {"1": 5.0, "2": 2.5}


def test_kinds_are_told_apart(report):
    kinds = report.to_json()["methods"][0]["kinds"]
    assert {kind: each["n_sets"] for kind, each in kinds.items()} == {"shapes": 2, "tables": 1}
    assert kinds["shapes"]["metrics"]["ari"]["mean"] == pytest.approx(0.75)


def test_every_set_is_there(report):
    data = report.to_json()
    assert [each["name"] for each in data["sets"]] == list(SIZES)
    assert data["sets"][0] == {
        "name": "a",
        "kind": "shapes",
        "points": 10,
        "columns": 2,
        "clusters": 2,
        "noise": 1,
    }
    assert data["methods"][0]["sets"]["b"] == {
        "ari": 0.5,
        "nmi": 0.5,
        "k_found": 3.0,
        "seconds": {"1": 2.0, "2": 1.0},
    }


def test_runs_that_were_used_again_tell_their_date(report):
    mine, spectral = report.to_json()["methods"]
    assert mine["measured"] == ["2026-01-01"]
    assert spectral["measured"] == ["2025-01-01"]
    assert (spectral["told_k"], mine["ours"]) == (True, True)


def test_how_busy_the_machine_was_is_weighted_by_time(report):
    mine, spectral = report.to_json()["methods"]
    assert mine["others_cpu_share"] == pytest.approx(0.5 * (16.5 - 1) / 16.5, abs=1e-3)
    assert spectral["others_cpu_share"] is None


def test_tables_agree_with_the_json(report):
    means, kinds, sets = report.tables()
    assert means.header[-3:] == ["seconds, 1 thread", "seconds, 2 threads", "run of"]
    assert [row[-1] for row in means.rows] == ["2026-01-01", "2025-01-01"]
    cells = ["mine", "0.500 ± 0.289", "0.500 ± 0.289", "33%", "67%", "2.000", "1.000"]
    assert means.rows[0][:-1] == cells
    assert kinds.header == ["method", "shapes (2)", "tables (1)"]
    assert kinds.rows[0] == ["mine", "0.750 ± 0.250", "0.000"]
    assert sets.rows[1] == ["b", "2000", "2", "2", "0.50 (3)", "0.20 (4)"]
    for _, header, rows in report.tables():
        assert {len(row) for row in rows} == {len(header)}


def test_without_sets_of_a_size_there_is_no_median(report):
    assert report.median_seconds(report.rows[0], 1, (10_001, np.inf)) is None
    json.dumps(report.to_json(), allow_nan=False)
