import pytest
import typer

from coterie.cli.n_clusters import asked_clusters, parse_n_clusters


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


def test_an_estimator_that_cannot_be_told_a_number_is_not(capsys):
    class Stubborn:
        def __init__(self, weights):
            pass

    class Obedient:
        def __init__(self, weights, *, n_clusters=None):
            pass

    assert asked_clusters(Obedient, 3) == {"n_clusters": 3}
    assert asked_clusters(Stubborn, None) == asked_clusters(Obedient, None) == {}
    with pytest.raises(typer.Exit):
        asked_clusters(Stubborn, 3)
    assert "Stubborn finds out by itself how many clusters" in capsys.readouterr().err
