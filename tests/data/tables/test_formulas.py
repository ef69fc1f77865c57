import polars as pl

from coterie.data.tables.formulas import without_formulas
from coterie.data.tables.numerals import COMMA, POINT, Numerals


def test_formulas_get_an_apostrophe_and_numbers_do_not():
    cells = ["=1+1", "+49 30 123", "-2.5", "@me", "-$5", "-", None, "a=b", "-x", "+1e3", "\tx"]
    safe = without_formulas(pl.DataFrame({"t": cells}), POINT)["t"].to_list()
    assert safe == [
        "'=1+1",
        "'+49 30 123",
        "-2.5",
        "'@me",
        "-$5",
        "-",
        None,
        "a=b",
        "'-x",
        "+1e3",
        "'\tx",
    ]


def test_numbers_are_those_of_the_file():
    frame = pl.DataFrame({"t": ["-1,5", "-1.5"]})
    assert without_formulas(frame, COMMA)["t"].to_list() == ["-1,5", "'-1.5"]


def test_names_are_made_harmless_and_the_rest_stays():
    frame = pl.DataFrame({"=x": [1.0, -2.0], "^.*$": ["a", "=b"], "y": ["-1", "2"]})
    safe = without_formulas(frame, POINT)
    assert safe.columns == ["'=x", "^.*$", "y"]
    assert safe.rows() == [(1.0, "a", "-1"), (-2.0, "'=b", "2")]
    assert without_formulas(pl.DataFrame({"x": [1.0]}), POINT).rows() == [(1.0,)]


def test_thousands_of_columns_with_negative_numbers_are_not_parsed_one_by_one(monkeypatch):
    def slow(*_):
        raise AssertionError("only suspicious text needs the slow parser")

    frame = pl.DataFrame({f"c{at}": ["-1.5", " -2e3", "-INF", "7"] for at in range(50)})
    monkeypatch.setattr(Numerals, "parse", slow)
    assert without_formulas(frame, POINT).equals(frame)
