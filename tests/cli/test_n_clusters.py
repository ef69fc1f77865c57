import pytest
import typer

from coterie.cli.n_clusters import parse_n_clusters


@pytest.mark.parametrize(
    ("text", "meant"),
    [(None, None), ("5", 5), ("2:8", (2, 8)), ("3:3", (3, 3)), (" 2 : 8 ", (2, 8))],
)
def test_a_number_or_a_range(text, meant):
    assert parse_n_clusters(text) == meant


@pytest.mark.parametrize("text", ["", "x", "0", "-3", "8:2", "0:4", "2:", ":", "2:3:4", "2.5"])
def test_anything_else_is_refused_in_one_line(text, capsys):
    with pytest.raises(typer.Exit) as info:
        parse_n_clusters(text)
    assert info.value.exit_code == 2
    assert capsys.readouterr().err.count("\n") == 1
