from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from coterie.data.tables.columns import MAX_LEVELS_READ, Choice, Column, named, read_batch
from coterie.data.tables.table import LeftOut, SourceError


def column(*cells, text=True, name="x", cut=None, **settings):
    """A column that has read the cells, in two batches where a place to cut is given."""
    found = Column(name, text_is_data=text, **settings)
    series = pl.Series(name, cells)
    places = [0, len(cells)] if cut is None else [0, cut, len(cells)]
    values = [found.read(series[start:stop], start) for start, stop in pairwise(places)]
    return found, np.concatenate(values)


def test_text_of_numbers_is_numbers():
    found, values = column(" 3", "1e3", "-2.5")
    np.testing.assert_array_equal(values, [3, 1000, -2.5])
    assert found.left_out() is None


def test_infinities_are_read_without_a_word():
    np.testing.assert_array_equal(column("inf", "inf", "-inf")[1], [np.inf, np.inf, -np.inf])


def test_truths_are_ones_and_zeros():
    np.testing.assert_array_equal(column("True", "false", "TRUE")[1], [1, 0, 1])
    np.testing.assert_array_equal(column(True, False, text=False)[1], [1, 0])


def test_other_text_is_told_with_its_place_in_the_file():
    found, _ = column("1", "2", "Ann", "Bob", cut=1)
    assert found.left_out() == LeftOut("x", "text, 'Ann' in row 3")


def test_long_text_is_cut():
    found, _ = column("a" * 50)
    assert found.left_out().reason == f"text, '{'a' * 21}...' in row 1"


@pytest.mark.parametrize("cells", [["", "NA"], [None, None], ["?", "n/a"]])
def test_a_column_without_values_is_left_out(cells):
    assert column(*cells)[0].left_out() == LeftOut("x", "no values")
    assert column(*cells, cut=1)[0].left_out() == LeftOut("x", "no values")


@pytest.mark.parametrize("cut", [None, 2])
def test_text_becomes_categories_where_it_is_wanted(cut):
    found, codes = column("b", " a", None, "b ", "NA", "a", encode=True, cut=cut)
    np.testing.assert_array_equal(codes, [0, 1, np.nan, 0, np.nan, 1])
    assert found.left_out() is None
    framed = found.framed(codes)
    assert (framed.kind, framed.levels) == ("categories", ("b", "a"))
    assert framed.values.tolist() == [0, 1, -1, 0, -1, 1]
    assert found.gaps == 2


def test_numbers_that_turn_out_to_be_text_must_be_read_again():
    found, _ = column("1", "2", "late", "1", encode=True, cut=2)
    assert found.became_text
    found, codes = column("1", "01", "late", "1", as_text=True, cut=2)
    assert found.framed(codes).levels == ("1", "01", "late")


def test_too_many_texts_are_no_categories():
    found, _ = column(*(f"t{i}" for i in range(MAX_LEVELS_READ + 1)), encode=True)
    reason = "text, 't0' in row 1, with more than 10,000 different values"
    assert found.left_out() == LeftOut("x", reason)


def test_truths_are_known_as_such():
    assert column("true", "", "FALSE")[0].framed(np.ones(3)).kind == "truths"
    assert column(True, False, text=False)[0].framed(np.ones(2)).kind == "truths"
    for cells in (["1", "0"], ["true", "1"], ["true", "2"]):
        assert column(*cells)[0].framed(np.ones(2)).kind == "numbers"
    assert column("true", "0", cut=1)[0].framed(np.ones(2)).kind == "numbers"


@pytest.mark.parametrize(
    ("series", "reason"),
    [
        (pl.Series("x", ["1", "2"]), "text"),
        (pl.Series("x", ["a", "b"], pl.Categorical), "text"),
        (pl.Series("x", [0], pl.Datetime), "dates or times"),
        (pl.Series("x", [[1.0]]), "nested values"),
    ],
)
def test_columns_of_other_types_are_left_out(series, reason):
    found = Column("x", text_is_data=False)
    found.read(series, 0)
    assert found.left_out() == LeftOut("x", reason)


def test_gaps_and_infinite_values_are_counted_apart():
    found, values = column("1", "", "inf", "4", "nan", "-inf", cut=2)
    np.testing.assert_array_equal(values, [1, np.nan, np.inf, 4, np.nan, -np.inf])
    assert (found.gaps, found.infinite, found.first_infinite) == (2, 2, 2)


def test_choosing_columns(csv):
    source = csv("a,b,c,d\n1,2,3,4\n")
    assert Choice().of(source).tried == ("a", "b", "c", "d")
    chosen = Choice(columns=["a, c"]).of(source)
    assert chosen.tried == ("a", "c")
    assert chosen.reasons == {"b": "not among --columns", "d": "not among --columns"}
    chosen = Choice(exclude=["a"], ids=["b"], truth=["c"]).of(source)
    assert chosen.tried == ("d",)
    assert chosen.reasons == {
        "a": "excluded",
        "b": "identifies the rows",
        "c": "holds the true groups",
    }


def test_choices_that_make_no_sense_are_refused(csv):
    source = csv("a,b\n1,2\n")
    with pytest.raises(SourceError, match="no column 'z'; it has 'a', 'b'"):
        Choice(columns=["z"]).of(source)
    with pytest.raises(SourceError, match="'a' is both selected and excluded"):
        Choice(columns=["a"], exclude=["a"]).of(source)
    with pytest.raises(SourceError, match=r"all columns of .* are excluded"):
        Choice(exclude=["a,b"]).of(source)


def test_a_name_may_have_commas(csv):
    source = csv('"a,b",c\n1,2\n')
    assert named(source, ["a,b"]) == ("a,b",)
    assert named(source, ["c,c"]) == ("c",)


def test_a_batch_is_read_as_its_columns_are_one_by_one():
    cells = {
        "plain": ["1", "2.5", "-3e2"],
        "gaps": ["1", None, "NA"],
        "truths": ["true", "FALSE", "True"],
        "text": ["1", "two", "3"],
        "spaces": [" 1", "2 ", "nan"],
        "infinite": ["inf", "1", "-inf"],
        "^.*$": ["7", "8", "9"],
        "*": ["", None, ""],
    }
    frame = pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String))
    alone = [Column(name, text_is_data=True) for name in cells]
    together = [Column(name, text_is_data=True) for name in cells]
    expected = np.column_stack([each.read(frame[each.name], 5) for each in alone])
    np.testing.assert_array_equal(read_batch(together, frame, 5), expected)
    for one, other in zip(alone, together, strict=True):
        assert repr(vars(one)) == repr(vars(other))


def test_thousands_of_columns_take_few_queries(monkeypatch):
    queries = []
    select = pl.DataFrame.select
    monkeypatch.setattr(
        pl.DataFrame, "select", lambda *given, **more: queries.append(1) or select(*given, **more)
    )
    names = [f"c{at}" for at in range(300)]
    frame = pl.DataFrame({name: ["1.5", None, "3"] for name in names})
    columns = [Column(name, text_is_data=True) for name in names]
    assert read_batch(columns, frame, 0).shape == (3, 300)
    assert len(queries) < 10
