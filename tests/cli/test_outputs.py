from pathlib import Path

import pytest
import typer

from coterie.cli.outputs import Targets, refuse_targets
from coterie.data.tables.delimited import Delimited


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n")
    return path


@pytest.fixture
def refusal(table, capsys):
    def refusal(labels=None, picture=None, report=None):
        with pytest.raises(typer.Exit) as info:
            refuse_targets(table, Delimited(table, "it"), Targets(labels, picture, report))
        assert info.value.exit_code == 2
        return capsys.readouterr().err

    return refusal


def test_outputs_that_cannot_be_are_refused(refusal, table, tmp_path):
    assert "the input file" in refusal(labels=table)
    assert "is a folder; name a file" in refusal(labels=tmp_path)
    assert "a picture must end in" in refusal(picture=Path("p.txt"))
    assert "a report must end in .html" in refusal(report=Path("r.pdf"))


def test_outputs_of_different_names_are_fine(table, tmp_path):
    names = (tmp_path / name for name in ("a.csv", "a.png", "a.html"))
    refuse_targets(table, Delimited(table, "it"), Targets(*names))
    refuse_targets(table, Delimited(table, "it"), Targets(Path("-"), None, None))
