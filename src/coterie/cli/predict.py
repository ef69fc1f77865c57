"""`coterie predict`: the clusters of a later table, by a model that was fitted before."""

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from coterie.cli.options import (
    WRITING,
    Array,
    AsJson,
    DecimalSign,
    Encoding,
    File,
    Header,
    Separator,
)
from coterie.cli.outputs import STANDARD_OUTPUT, Targets, label, refuse_targets
from coterie.cli.printable import printable
from coterie.cli.progress import stages
from coterie.cli.refusal import refuse, refusing
from coterie.cli.summary import cluster_table, listed
from coterie.importing import imports_of_a_command

if TYPE_CHECKING:
    from coterie.data.tables.labelled import Sizes
    from coterie.data.tables.table import Source
    from coterie.estimators.amortized import AmortizedClusterer
    from coterie.frames.encoded_table import TableEncoding

MUCH = 5  # times the share of unlike rows that is usual: then there is a note


def predict(
    file: File,
    model: Annotated[
        Path,
        typer.Option(metavar="FILE", help="A model written by coterie cluster --save."),
    ],
    separator: Separator = None,
    decimal: DecimalSign = None,
    header: Header = None,
    encoding: Encoding = None,
    array: Array = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the rows with their cluster and confidence, in the format of the extension;"
            " - is standard output, in the input format.",
            rich_help_panel=WRITING,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Assign the rows of a later table to the clusters of a saved model.

    The table needs the columns used for clustering; others are ignored. The share of rows unlike
    the fitted ones is reported: if it is large, the table has drifted and should be clustered
    again.
    """
    if as_json and out == STANDARD_OUTPUT:
        refuse("--json and --out - would both write to standard output")
    with refusing():
        with imports_of_a_command():
            from coterie.data.tables.files import opened
            from coterie.estimators.loaded import load
            from coterie.frames.column_parts import Remarks
            from coterie.frames.images import EncodedImages

        fitted = load(model)
        if not hasattr(fitted, "fitted_"):  # a network for images, whose weights are all of it
            refuse(f"{model} is for images: coterie cluster FOLDER --weights {model}")
        if isinstance(fitted.fitted_.frame, EncodedImages):
            refuse(
                f"{model} is for images: in Python, coterie.load({str(model)!r}).predict(images)"
            )
        remarks = Remarks()
        with (
            stages() as begin,
            opened(
                file,
                separator=separator,
                encoding=encoding,
                array=array,
                decimal=decimal,
                header=header,
            ) as source,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", UserWarning)  # remarks say the same of the whole file
            refuse_targets(file, source, Targets(out, None, None))
            wanted = _columns_of(source, fitted)
            count = _Drift(fitted, wanted)
            sizes = label(source, wanted, count.assign, fitted.n_clusters_, out, begin, remarks)
        ignored = _new_columns(source, wanted)
        notes = (*_ignored_note(ignored), *remarks.sentences(), *count.notes())
    result = {
        "file": str(file),
        "model": str(model),
        "weights": str(fitted.weights),
        "rows": count.rows,
        "columns": list(wanted.columns),
        "ignored": ignored,
        "n_clusters": fitted.n_clusters_,
        "clusters": _clusters(sizes, fitted),
        "noise": sizes.noise,
        "unlike": count.result(),
        "notes": list(notes),
        "labels": out and str(out),
    }
    if as_json:
        typer.echo(json.dumps(result))
    else:
        _show(result, to_stderr=out == STANDARD_OUTPUT)


def _columns_of(source: "Source", fitted: "AmortizedClusterer") -> "TableEncoding":
    """How the columns of a source that the model needs become numbers."""
    import numpy as np

    from coterie.data.tables.table import SourceError
    from coterie.frames.column_parts import Numbers
    from coterie.frames.encoded_table import TableEncoding

    encoding = fitted._encoding
    if encoding is None:  # fitted to an array, whose columns have no names
        n_columns = fitted.n_features_in_
        if len(source.columns) != n_columns:
            raise SourceError(
                f"{source.name} has {len(source.columns)} columns, the model was fitted to an array"
                f" of {n_columns}"
            )
        parts = (Numbers(float("nan")),) * n_columns
        return TableEncoding(parts, source.columns, source.columns, np.full(n_columns, -1))
    needed = encoding.without_dropped()
    missing = [repr(name) for name in needed.columns if name not in source.columns]
    if missing:
        raise SourceError(
            f"{source.name} lacks {'columns' if len(missing) > 1 else 'the column'}"
            f" {', '.join(missing)}, which the model needs"
        )
    return needed


def _new_columns(source: "Source", wanted: "TableEncoding") -> list[str]:
    known = {*wanted.columns, *(left.name for left in wanted.left_out)}
    return [name for name in source.columns if name not in known]


def _ignored_note(ignored: list[str]) -> tuple[str, ...]:
    return (f"new columns are ignored: {listed(ignored)}",) if ignored else ()


class _Drift:
    """Assigns rows to clusters, and counts those unlike the fitted ones."""

    def __init__(self, fitted: "AmortizedClusterer", encoding: "TableEncoding") -> None:
        self.rows = self._unlike = 0
        self._fitted, self._encoding = fitted, encoding
        self._beyond: Any = 0

    def assign(self, rows: Any, values: Any) -> tuple[Any, Any]:
        """The labels and the confidence of some rows (m, d)."""
        from coterie.frames.encoded_table import EncodedTable
        from coterie.inference.result import own_probability

        table: Any = EncodedTable(values, self._encoding)
        probabilities = self._fitted.predict_proba(table)
        noise = self._fitted.fitted_.noise
        labels = self._fitted.predict(table) if noise else probabilities.argmax(1)
        self.rows += len(values)
        self._unlike += int(self._fitted.unlike(table).sum())
        self._beyond = self._beyond + self._fitted._familiar().beyond(values)
        return labels, own_probability(labels, probabilities)

    def result(self) -> dict[str, Any]:
        """The unlike rows, and the values of each column out of the fitted range."""
        from coterie.inference.drift import EXPECTED

        beyond = zip(self._encoding.names, self._beyond, strict=True)
        return {
            "rows": self._unlike,
            "share": round(self._unlike / self.rows, 6),
            "usual_share": EXPECTED,
            "out_of_range": {name: int(number) for name, number in beyond if number},
        }

    def notes(self) -> tuple[str, ...]:
        """A note where the table has drifted, with the columns that tell why."""
        result = self.result()
        much = MUCH * result["usual_share"]
        if result["share"] <= much:
            return ()
        columns = [
            f"{name!r} ({number:,} values)"
            for name, number in result["out_of_range"].items()
            if number > much * self.rows
        ]
        where = f"; out of the fitted range: {', '.join(columns)}" if columns else ""
        return (
            f"the table has drifted: {result['share']:.1%} of the rows are unlike the fitted ones"
            f"{where}; consider clustering it again",
        )


def _clusters(sizes: "Sizes", fitted: "AmortizedClusterer") -> list[dict[str, Any]]:
    n_fitted = int(fitted._sizes.sum()) + fitted._n_noise
    each = zip(sizes.counts, sizes.confidence, fitted._sizes, strict=True)
    return [
        {
            "cluster": number,
            "size": int(size),
            "mean_confidence": round(float(confidence / size), 6) if size else None,
            "fitted_share": round(int(before) / n_fitted, 6),
        }
        for number, (size, confidence, before) in enumerate(each)
    ]


def _show(result: dict[str, Any], *, to_stderr: bool) -> None:
    console = Console(highlight=False, stderr=to_stderr)

    def say(text: str) -> None:
        console.print(printable(text), soft_wrap=True)

    k, rows, unlike = result["n_clusters"], result["rows"], result["unlike"]
    called = "standard input" if result["file"] == "-" else result["file"]
    say(
        f"[bold]{rows:,} rows[/] of {escape(called)} in {k:,} {'cluster' if k == 1 else 'clusters'}"
    )
    say(f"[dim]model    [/] {escape(result['model'])} ({escape(result['weights'])})")
    say(f"[dim]columns  [/] {escape(listed(result['columns']))}")
    console.print(cluster_table(result["clusters"], rows))
    if noise := result["noise"]:
        say(f"[dim]noise    [/] {noise:,} rows, {noise / rows:.1%}: cluster -1")
    say(
        f"[dim]unlike   [/] {unlike['rows']:,} rows, {unlike['share']:.1%}, are unlike the"
        f" fitted ones; about {unlike['usual_share']:.0%} is usual"
    )
    if result["labels"] not in (None, "-"):
        say(f"[dim]labels   [/] {escape(result['labels'])}")
    for note in result["notes"]:
        say(f"[yellow]note     [/] {escape(note)}")
