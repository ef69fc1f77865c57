"""The summary of `coterie cluster`."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from coterie.cli.printable import printable

if TYPE_CHECKING:
    from coterie.data.tables.labelled import Sizes
    from coterie.data.tables.table import Table
    from coterie.estimators.amortized import AmortizedClusterer
    from coterie.inference.result import Clustering

BAR = 20
LONGEST_NAME = 80  # characters of a column's name
SHOWN = 0.005  # smaller probabilities of a number of clusters are left out


class Fit(NamedTuple):
    """What is told of a fitted model."""

    weights: str
    clustering: "Clustering"
    stability: float | None

    @classmethod
    def of(cls, model: "AmortizedClusterer") -> Self:
        """What is told of this one."""
        return cls(str(model.weights), model.clustering_, model.stability_)


def summary(
    file: str, table: "Table", fit: Fit, sizes: "Sizes", notes: Sequence[str]
) -> dict[str, Any]:
    """The result as a JSON object."""
    return {
        "file": file,
        "rows": table.n_rows,
        "read_rows": len(table.values),
        "fitted_rows": fit.clustering.context_size,
        "columns": list(table.columns),
        "categories": {name: list(each) for name, each in table.encoding.categories.items()},
        "left_out": [column._asdict() for column in table.left_out],
        "filled": [column._asdict() for column in table.filled],
        "weights": fit.weights,
        "n_clusters": fit.clustering.n_clusters,
        "clusters": [
            {
                "cluster": number,
                "size": int(size),
                "mean_confidence": _mean(float(confidence), int(size)),
            }
            for number, (size, confidence) in enumerate(
                zip(sizes.counts, sizes.confidence, strict=True)
            )
        ],
        "noise": sizes.noise,
        **_belief(fit.clustering),
        "stability": fit.stability,
        "mean_log_likelihood": fit.clustering.log_likelihood,
        "notes": list(notes),
    }


def _mean(total: float, size: int) -> float | None:
    """The mean of numbers with a total, which is NaN where they are not known."""
    return None if not size or math.isnan(total) else round(total / size, 6)


def _belief(clustering: "Clustering") -> dict[str, Any]:
    """What a judge expects of the result; nulls where none has chosen it."""
    belief = clustering.k_probabilities
    if belief is None:
        return {"expected_agreement": None, "k_probabilities": None, "runner_up": None}
    from coterie.inference.result import nearly_as_probable

    shown = [(k, round(float(p), 4)) for k, p in enumerate(belief) if p >= SHOWN]
    return {
        "expected_agreement": clustering.expected_agreement,
        "k_probabilities": {str(k): p for k, p in sorted(shown, key=lambda each: -each[1])},
        "runner_up": nearly_as_probable(belief, clustering.n_clusters),
    }


def show(result: dict[str, Any], *, to_stderr: bool = False) -> None:
    """Print a readable summary."""
    console = Console(highlight=False, stderr=to_stderr)

    def say(text: str) -> None:
        console.print(printable(text), soft_wrap=True)

    k, rows = result["n_clusters"], result["rows"]
    say(
        f"[bold]{k:,} {'cluster' if k == 1 else 'clusters'}[/] in {escape(_called(result['file']))}"
    )
    say(f"[dim]rows     [/] {rows:,}{_seen(result)}")
    if result.get("read_as"):
        say(f"[dim]read as  [/] {escape(result['read_as']['summary'])}")
    if result["columns"]:  # images have none
        say(f"[dim]columns  [/] {escape(listed(result['columns']))}")
    for column in result["left_out"]:
        name = _shortened(column["name"]) or "(no name)"
        say(f"[dim]dropped  [/] {escape(name)}: {escape(column['reason'])}")
    say(f"[dim]model    [/] {escape(result['weights'])}")
    if result["mean_log_likelihood"] is not None:
        say(f"[dim]fit      [/] mean log-likelihood {result['mean_log_likelihood']:.3f} per row")
    console.print(cluster_table(result["clusters"], rows))
    if (expected := result.get("expected_agreement")) is not None:
        numbers = list(result["k_probabilities"].items())[:3]
        believed = ", ".join(f"{k} ({p:.0%})" for k, p in numbers)
        say(f"[dim]k        [/] most probable numbers of clusters: {believed}")
        say(f"[dim]expected [/] agreement with the true clusters {expected:.2f} (ARI)")
    if (stability := result.get("stability")) is not None:
        say(f"[dim]stability[/] agreement between samples of the rows {stability:.2f} (ARI)")
    if (other := result.get("runner_up")) is not None:
        clusters = "cluster is" if other == 1 else "clusters are"
        say(f"[yellow]note     [/] {other} {clusters} nearly as probable: --n-clusters {other}")
    if noise := result["noise"]:
        outliers = "outlier" if noise == 1 else "outliers"
        say(f"[dim]noise    [/] {noise:,} {outliers}, {noise / rows:.1%}: cluster -1")
    for name in ("labels", "picture", "report", "saved"):
        if result.get(name) not in (None, "-"):
            say(f"[dim]{name:<9}[/] {escape(result[name])}")
    for folder in result.get("new_folders", ()):
        say(f"[dim]folder   [/] {escape(folder)} (new)")
    for note in result["notes"]:
        say(f"[yellow]note     [/] {escape(note)}")


def listed(names: Sequence[str], most: int = 40) -> str:
    """Names separated by commas; for many names their number, the first and the last."""
    if len(names) <= most:
        return ", ".join(map(_shortened, names))
    return f"{len(names)}: {', '.join(map(_shortened, names[:3]))}, ..., {_shortened(names[-1])}"


def _shortened(name: str) -> str:
    """A name, cut to LONGEST_NAME characters: a damaged header may be a single one."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _seen(result: dict[str, Any]) -> str:
    """How many of the rows were read into memory, and on how many of these clusters were found.

    Several samples were asked where their agreement is known.
    """
    read, fitted = result["read_rows"], result["fitted_rows"]
    in_memory = f", a random sample of {read:,} in memory" if read < result["rows"] else ""
    samples = "" if result.get("stability") is None else "samples of "
    found = f", clusters found on {samples}{fitted:,} of them" if fitted < read else ""
    return in_memory + found


def _called(file: str) -> str:
    return "standard input" if file == "-" else file


def cluster_table(clusters: list[dict[str, Any]], rows: int) -> RichTable:
    """The clusters as a table to print, with their shares in fit where these are given."""
    table = RichTable(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    then = "fitted_share" in clusters[0]
    for name in ("cluster", "size", "share", *(["in fit"] if then else [])):
        table.add_column(name, justify="right")
    table.add_column("")
    table.add_column("confidence", justify="right")
    largest = max(1, *(cluster["size"] for cluster in clusters))
    for cluster in clusters:
        bar = "█" * max(1, round(BAR * cluster["size"] / largest)) if cluster["size"] else ""
        confidence = cluster["mean_confidence"]
        table.add_row(
            str(cluster["cluster"]),
            f"{cluster['size']:,}",
            f"{cluster['size'] / rows:.1%}",
            *([f"{cluster['fitted_share']:.1%}"] if then else []),
            f"[cyan]{bar}[/]",
            "" if confidence is None else f"{confidence:.3f}",
        )
    return table
