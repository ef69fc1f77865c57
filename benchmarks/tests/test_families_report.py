import json

import numpy as np
import pytest

from bench.families_report import FamiliesReport
from bench.ledger import Kept
from bench.scores import Run
from bench.suite import SuiteSet
from bench.tables_report import Row

FAMILIES = ("roads", "roads", "blobs")


def row(name, *aris, is_ours=False, told_k=False):
    """A method that is off by one cluster wherever it is not right."""
    runs = tuple(
        Kept(Run({"ari": ari, "nmi": ari, "k_mae": float(ari < 1), "k_found": 2.0}, 1.0), "today")
        for ari in aris
    )
    return Row(name, "d", is_ours, told_k, {1: runs})


@pytest.fixture
def report():
    points, labels = np.zeros((4, 2), np.float32), np.array([0, 0, 1, 1])
    suite = tuple(SuiteSet(f"s{at}", kind, points, labels) for at, kind in enumerate(FAMILIES))
    rows = (
        row("mine", 1.0, 0.5, 0.4, is_ours=True),
        row("one", 0.8, 0.6, 0.1),
        row("other", 0.2, 0.2, 1.0),
        row("told", 1.0, 1.0, 1.0, told_k=True),
    )
    return FamiliesReport("command", "today", {"cpu": "x"}, 32, suite, rows, (0.9, 0.7, 1.0))


def test_the_best_peer_is_that_of_the_family_and_is_not_told_k(report):
    mine = report.rows[0]
    assert report.margin(mine, "roads").best_peer == "one"
    assert report.margin(mine, "blobs").best_peer == "other"


def test_margins_are_taken_set_by_set(report):
    _, over_peer, over_ceiling = report.margin(report.rows[0], "roads")
    assert over_peer.mean == pytest.approx(0.05)  # of 0.2 and -0.1
    assert over_peer.standard_error == pytest.approx(0.15)
    assert over_ceiling.mean == pytest.approx(-0.05)  # of 0.1 and -0.2
    _, over_peer, over_ceiling = report.margin(report.rows[0], "blobs")
    assert (over_peer.mean, over_peer.standard_error) == (pytest.approx(-0.6), None)
    assert over_ceiling.mean == pytest.approx(-0.6)


def test_data_tell_ceilings_and_the_margins_of_ours_alone(report):
    data = report.to_json()
    assert data["benchmark"] == "families"
    assert data["ceiling"]["kinds"]["roads"]["mean"] == pytest.approx(0.8)
    assert data["ceiling"]["all"]["mean"] == pytest.approx(2.6 / 3)
    assert set(data["margins"]) == {"mine"}
    assert data["margins"]["mine"]["blobs"]["best_peer"] == "other"
    assert data["methods"][0]["kinds"]["roads"]["metrics"]["k_exact"]["mean"] == 0.5
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_tables_name_families_in_the_order_of_the_sets(report):
    aris, k, margins = report.tables()
    assert aris.header == ["method", "roads (2)", "blobs (1)"]
    assert aris.rows[0] == ["mine", "0.750 ± 0.250", "0.400"]
    assert aris.rows[-1] == ["ceiling", "0.800 ± 0.100", "1.000"]
    assert k.rows[0] == ["mine", "50%, 100%", "0%, 100%"]
    assert margins.rows == [
        ["mine", "roads", "one", "0.050 ± 0.150", "-0.050 ± 0.150"],
        ["mine", "blobs", "other", "-0.600", "-0.600"],
    ]
    for _, header, rows in report.tables():
        assert {len(cells) for cells in rows} == {len(header)}
