import json

import pytest

from bench.ledger import Kept, Key, Ledger
from bench.scores import Run

FIRST, SECOND = Key("a", "set", 1, "f0"), Key("b", "set", 2, "f1")
RUN = Kept(Run({"ari": 0.5}, 1.25), "2026-01-01", 0.25)


def everything(key):
    return True


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.jsonl"


@pytest.fixture
def written(path):
    ledger = Ledger(path, keep=everything)
    ledger.add(FIRST, RUN)
    ledger.add(SECOND, RUN._replace(date="2026-01-02"))
    return path


def test_runs_are_found_again(written):
    ledger = Ledger(written, keep=everything)
    assert FIRST in ledger
    assert ledger[FIRST] == RUN
    assert ledger[SECOND].date == "2026-01-02"


@pytest.mark.parametrize("field", Key._fields)
def test_a_run_of_anything_else_is_not(written, field):
    other = FIRST._replace(**{field: 7})
    assert other not in Ledger(written, keep=everything)


def test_a_run_is_on_disk_at_once(path):
    ledger = Ledger(path, keep=everything)
    ledger.add(FIRST, RUN)
    assert json.loads(path.read_text())["scores"] == {"ari": 0.5}


def test_the_later_run_counts(written):
    Ledger(written, keep=everything).add(FIRST, RUN._replace(date="2026-02-02"))
    assert Ledger(written, keep=everything)[FIRST].date == "2026-02-02"


def test_runs_that_are_not_kept_are_struck_out(written):
    ledger = Ledger(written, keep=lambda key: key.method == "b")
    assert FIRST not in ledger
    assert SECOND in ledger
    assert len(written.read_text().splitlines()) == 1


def test_a_line_that_was_cut_off_is_forgotten(written):
    written.write_text(written.read_text()[:-20])
    ledger = Ledger(written, keep=everything)
    assert FIRST in ledger
    assert SECOND not in ledger
    ledger.add(SECOND, RUN)
    assert SECOND in Ledger(written, keep=everything)
