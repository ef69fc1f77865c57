"""A cluster in one sentence: what its rows have more or less of than the others."""

from collections.abc import Sequence

from coterie.report.markup import shortened
from coterie.report.numerals import Numeral, percent
from coterie.report.profile import APART, Difference

MAX_TRAITS = 3


def sentence(
    traits: Sequence[Difference],
    names: Sequence[str],
    numerals: Sequence[Numeral],
    *,
    alone: bool = False,
) -> str:
    """The traits of a cluster in plain words; of a category one level is told.

    alone: whether there is no other cluster.
    """
    if alone:
        return "the only cluster"
    told: dict[str, str] = {}
    for each in traits:
        numeral, name = numerals[each.column], names[each.column]
        told.setdefault(subject(name, numeral), trait(each, name, numeral))
        if len(told) == MAX_TRAITS:
            break
    return ", ".join(told.values()) or "no single column distinguishes it"


def trait(each: Difference, name: str, numeral: Numeral) -> str:
    """One difference: higher alcohol (13.7 against 12.3)."""
    called = shortened(spoken(name, numeral))
    if numeral.share:
        return f"{called} in {percent(each.inside)} of rows ({percent(each.elsewhere)} elsewhere)"
    inside, elsewhere = numeral.pair(each.inside, each.elsewhere)
    if each.shift < APART or inside == elsewhere:
        return f"{called} around {inside}"
    way = "higher" if each.inside > each.elsewhere else "lower"
    return f"{way} {called} ({inside} against {elsewhere})"


def subject(name: str, numeral: Numeral) -> str:
    """The column that a column comes from: plan for the indicator plan=gold, else itself."""
    return name.partition("=")[0] if numeral.share else name


def spoken(name: str, numeral: Numeral) -> str:
    """The name of a column as text: plan = gold for the indicator of a category, else as it is."""
    if not numeral.share:
        return name
    column, equals, level = name.partition("=")
    return f"{column} = {level}" if equals else f"{name} = 1"
