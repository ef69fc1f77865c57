"""The results on fresh sets of each family, as data and as tables."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.report import Table, cell
from bench.scores import Estimate, estimate
from bench.tables_report import Row, TablesReport


class Margin(NamedTuple):
    """ARI differences of one of our models on one family: to the best peer and to the ceiling.

    The best peer is the one with the highest mean on the family among those not given k.
    """

    best_peer: str
    over_best_peer: Estimate
    over_ceiling: Estimate


@dataclass(frozen=True)
class FamiliesReport(TablesReport):
    """All methods on all sets; the kind of a set is its family.

    ceilings: the ARI of `supervised.ceiling` for each set.
    """

    ceilings: tuple[float, ...]

    name = "families"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The families, in the order of the sets."""
        return tuple(dict.fromkeys(given.kind for given in self.suite))

    def ceiling(self, family: str | None = None) -> Estimate:
        """The mean ceiling of all sets, or of one family."""
        return estimate(self._of(family, self.ceilings))

    def margin(self, row: Row, family: str) -> Margin:
        """The margin of a model over its best peer and over the ceiling, negative if below."""
        choosing = [each for each in self.rows if not each.is_ours and not each.told_k]
        best = max(choosing, key=lambda each: self.summary(each, family).metrics["ari"].mean)
        mine, theirs, most = (
            self._of(family, values) for values in (_aris(row), _aris(best), self.ceilings)
        )
        return Margin(best.name, _difference(mine, theirs), _difference(mine, most))

    def to_json(self) -> dict[str, Any]:
        """The whole report as JSON-compatible data."""
        margins = {
            row.name: {family: _data(self.margin(row, family)) for family in self.kinds}
            for row in self.rows
            if row.is_ours
        }
        ceiling = {
            "all": self.ceiling()._asdict(),
            "kinds": {family: self.ceiling(family)._asdict() for family in self.kinds},
        }
        return {**super().to_json(), "ceiling": ceiling, "margins": margins}

    def tables(self) -> list[Table]:
        """ARI and k by family, and the margins of ours over the best peer and the ceiling."""
        return [self._aris_by_family(), self._k_by_family(), self._margins()]

    def _of(self, family: str | None, values: tuple[float, ...]) -> list[float]:
        pairs = zip(self.suite, values, strict=True)
        return [value for given, value in pairs if family in (None, given.kind)]

    def _aris_by_family(self) -> Table:
        means = self._means_by_kind()
        ceilings = ["ceiling", *(cell(self.ceiling(family)) for family in self.kinds)]
        return Table("mean ARI by family", means.header, [*means.rows, ceilings])

    def _k_by_family(self) -> Table:
        rows = []
        for row in self.rows:
            found = [self.summary(row, family).metrics for family in self.kinds]
            shares = [
                f"{each['k_exact'].mean:.0%}, {each['k_within_one'].mean:.0%}" for each in found
            ]
            rows.append([row.name, *shares])
        return Table("k exact, k within one", ["method", *self.kinds], rows)

    def _margins(self) -> Table:
        header = ["model", "family", "best peer", "ARI - best peer's", "ARI - ceiling"]
        rows = []
        for row in (row for row in self.rows if row.is_ours):
            for family in self.kinds:
                best, over_peer, over_ceiling = self.margin(row, family)
                rows.append([row.name, family, best, cell(over_peer), cell(over_ceiling)])
        return Table("ours against the best that chooses k", header, rows)


def _aris(row: Row) -> tuple[float, ...]:
    return tuple(kept.run.scores["ari"] for kept in row.scored)


def _difference(ours: list[float], theirs: list[float]) -> Estimate:
    return estimate([mine - other for mine, other in zip(ours, theirs, strict=True)])


def _data(margin: Margin) -> dict[str, Any]:
    return {
        "best_peer": margin.best_peer,
        "over_best_peer": margin.over_best_peer._asdict(),
        "over_ceiling": margin.over_ceiling._asdict(),
    }
