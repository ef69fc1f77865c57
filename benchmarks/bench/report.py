"""The results of a benchmark, as data and as tables."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from bench.printed import Printed
from bench.race import Race, Standing
from bench.scores import Estimate, Summary

EMPTY = ""


class Table(NamedTuple):
    """A table to show: every row has as many cells as the header."""

    title: str
    header: list[str]
    rows: list[list[str]]


class MetricColumn(NamedTuple):
    """How a metric is shown.

    The log-likelihood is shown without its standard error, which mostly reflects how much the sets
    differ; the relevant error is that of its difference from the oracle's.
    """

    metric: str
    title: str
    with_error: bool = True


COLUMNS = (
    MetricColumn("ari", "ARI"),
    MetricColumn("nmi", "NMI"),
    MetricColumn("acc", "ACC"),
    MetricColumn("k_mae", "k-MAE"),
    MetricColumn("ll", "LL", with_error=False),
    MetricColumn("network_ll", "LL"),
    MetricColumn("ll_per_pixel", "LL per pixel"),
    MetricColumn("ll_minus_oracle", "LL - oracle"),
    MetricColumn("network_ll_minus_oracle", "LL, network's parameters - oracle"),
)


@dataclass(frozen=True)
class Report:
    """The races of a benchmark, the machine and the time, and the figures in the papers."""

    name: str
    command: str
    date: str
    seed: int
    machine: dict[str, Any]
    races: tuple[Race, ...]
    printed: tuple[Printed, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The whole report as JSON-compatible data; the papers' figures are under "printed"."""
        return {
            "benchmark": self.name,
            "command": self.command,
            "date": self.date,
            "seed": self.seed,
            "machine": dict(self.machine),
            "settings": [_race_data(race) for race in self.races],
            "printed": [
                {
                    "source": paper.source,
                    "note": paper.note,
                    "rows": [dict(zip(paper.header, row, strict=True)) for row in paper.rows],
                }
                for paper in self.printed
            ],
        }

    def tables(self) -> list[Table]:
        """Two tables per setting, ours on all sets and all methods on a part; then the papers'."""
        tables = []
        for race in self.races:
            name = race.setting.title
            tables.append(_table(f"{name}: our systems on {race.ours.n_sets} sets", race.ours))
            if race.everybody is not None:
                title = f"{name}: everybody on the same {race.everybody.n_sets} sets"
                tables.append(_table(title, race.everybody))
        return tables + [_printed_table(paper) for paper in self.printed]


def _race_data(race: Race) -> dict[str, Any]:
    prior = race.setting.prior
    return {
        "title": race.setting.title,
        "prior": {"name": type(prior).__name__, **asdict(prior)},
        "peers_search_k_up_to": race.setting.k_limit,
        "ours": _standing_data(race.ours),
        "everybody": None if race.everybody is None else _standing_data(race.everybody),
    }


def _standing_data(standing: Standing) -> dict[str, Any]:
    return {
        "n_sets": standing.n_sets,
        "oracle": None if standing.oracle is None else _summary_data(standing.oracle),
        "methods": [_summary_data(summary) for summary in standing.methods],
    }


def _summary_data(summary: Summary) -> dict[str, Any]:
    metrics = {key: estimate._asdict() for key, estimate in summary.metrics.items()}
    return {**summary._asdict(), "metrics": metrics}


def _table(title: str, standing: Standing) -> Table:
    rows = [*standing.methods] + ([standing.oracle] if standing.oracle is not None else [])
    columns = [column for column in COLUMNS if any(column.metric in row.metrics for row in rows)]
    header = ["method", *(column.title for column in columns), "seconds: mean, median"]
    return Table(title, header, [_row(summary, columns) for summary in rows])


def _row(summary: Summary, columns: list[MetricColumn]) -> list[str]:
    cells = [
        cell(summary.metrics.get(column.metric), with_error=column.with_error) for column in columns
    ]
    timing = EMPTY
    if summary.seconds_mean is not None:
        timing = f"{summary.seconds_mean:.3f}, {summary.seconds_median:.3f}"
    return [summary.name, *cells, timing]


def cell(estimate: Estimate | None, *, with_error: bool = True) -> str:
    """A mean and its standard error, as tables show them."""
    if estimate is None:
        return EMPTY
    mean = f"{estimate.mean:.3f}"
    if estimate.standard_error is None or not with_error:
        return mean
    return f"{mean} ± {estimate.standard_error:.3f}"


def _printed_table(paper: Printed) -> Table:
    rows = [[EMPTY if cell is None else cell for cell in row] for row in paper.rows]
    return Table(f"{paper.source} ({paper.note})", list(paper.header), rows)
