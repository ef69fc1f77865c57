"""The output files of `coterie cluster`: labels, a picture, a report."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from coterie.cli.printable import printable
from coterie.cli.progress import Begin
from coterie.cli.refusal import refuse
from coterie.cli.summary import listed

if TYPE_CHECKING:
    from coterie.data.tables.columns import Choice
    from coterie.data.tables.labelled import Assign, Output, Sizes
    from coterie.data.tables.table import Source, Table
    from coterie.estimators.amortized import AmortizedClusterer
    from coterie.frames.column_parts import Remarks
    from coterie.frames.encoded_table import TableEncoding

STANDARD_OUTPUT = Path("-")


class Targets(NamedTuple):
    """Paths of the labels, the picture and the report."""

    labels: Path | None
    picture: Path | None
    report: Path | None


def new_folders(targets: Targets) -> list[str]:
    """The folders of the targets that do not exist yet and will be made."""
    parents = (target.parent for target in filter(None, targets))
    return list(dict.fromkeys(str(parent) for parent in parents if not parent.exists()))


class FitResult(NamedTuple):
    """A fitted model and notes for the user."""

    model: "AmortizedClusterer"
    notes: tuple[str, ...]


def refuse_targets(file: Path, source: "Source", targets: Targets) -> None:
    """Reject targets that cannot be written, before the work begins."""
    from coterie.data.tables.labelled import refuse_labelled, refuse_other_format

    if targets.labels is not None:
        refuse_labelled(source)
        if targets.labels != STANDARD_OUTPUT:
            refuse_other_format(source, targets.labels)
    if targets.picture is not None:
        from coterie.plots import SUFFIXES

        if targets.picture.suffix.lower() not in SUFFIXES:
            refuse(f"cannot write {targets.picture}; a picture must end in {', '.join(SUFFIXES)}")
    if targets.report is not None and targets.report.suffix.lower() not in (".html", ".htm"):
        refuse(f"cannot write {targets.report}; a report must end in .html")
    for target in targets:
        refuse_target(file, target)


def refuse_target(file: Path, target: Path | None) -> None:
    """Reject a target that is the input or a folder."""
    if target is None:
        return
    if target.exists() and file.exists() and target.samefile(file):
        refuse(f"{target} is the input file; write to another file")
    if target.is_dir():
        refuse(f"{target} is a folder; name a file")


def write_labels(
    source: "Source",
    table: "Table",
    model: "AmortizedClusterer",
    out: Path | None,
    begin: Begin,
    output: "Output | None" = None,
) -> "Sizes":
    """Count the rows of each cluster, and write the labelled rows if requested."""
    from coterie.data.tables.labelled import Sizes
    from coterie.frames.encoded_table import EncodedTable
    from coterie.inference.result import own_probability

    if out is None and not table.is_sample:
        sizes = Sizes(model.n_clusters_)
        sizes.add(model.labels_, own_probability(model.labels_, model.probabilities_))
        return sizes

    def assign(rows: Any, values: Any) -> tuple[Any, Any]:
        if table.is_sample:
            encoded: Any = EncodedTable(values, table.encoding)
            probabilities = model.predict_proba(encoded)
            labels = model.predict(encoded) if model.noise else probabilities.argmax(1)
        else:
            labels, probabilities = model.labels_[rows], model.probabilities_[rows]
        return labels, own_probability(labels, probabilities)

    return label(
        *(source, table.encoding, assign, model.n_clusters_, out, begin),
        output=output,
        by_values=table.is_sample,
    )


def label(
    source: "Source",
    encoding: "TableEncoding",
    assign: "Assign",
    n_clusters: int,
    out: Path | None,
    begin: Begin,
    remarks: "Remarks | None" = None,
    output: "Output | None" = None,
    *,
    by_values: bool = True,
) -> "Sizes":
    """Assign all rows of a file and write them, to standard output if the path says so."""
    from coterie.data.tables.labelled import label_rows

    arguments = (source, encoding, assign, n_clusters)
    if out != STANDARD_OUTPUT:
        progress = begin("labelling")
        return label_rows(*arguments, out, progress, remarks, output, by_values=by_values)
    with tempfile.TemporaryDirectory(prefix="coterie-") as folder:
        target = Path(folder) / "labels"
        progress = begin("labelling")
        sizes = label_rows(*arguments, target, progress, remarks, output, by_values=by_values)
        with target.open("rb") as labelled:
            shutil.copyfileobj(labelled, sys.stdout.buffer)
    return sizes


def draw(source: "Source", table: "Table", model: "AmortizedClusterer", plot: Path | None) -> None:
    """Plot the steps, if a picture is requested."""
    if plot is None:
        return
    from coterie.data.tables.image_folder import ImageFolder
    from coterie.files.replacing import replacing
    from coterie.plots import plot_steps
    from coterie.report.write import as_read

    read = as_read(model, table.values)
    names = None if isinstance(source, ImageFolder) else table.names
    fitted = model.fitted_
    drawn = table.values.shape[1] == 2 and fitted.has_density
    log_density = fitted.log_density if drawn else None
    figure = plot_steps(
        table.values, model.clustering_, names=names, read=read, log_density=log_density
    )
    with replacing(plot) as part:
        figure.savefig(part)


def write_report(
    source: "Source",
    table: "Table",
    found: FitResult,
    sizes: "Sizes",
    choice: "Choice",
    command: str,
    path: Path,
) -> None:
    """Write the report, with the columns that the user or else we take for names of the rows."""
    from coterie.data.tables.columns import named
    from coterie.data.tables.image_folder import ImageFolder
    from coterie.data.tables.survey import read_rows
    from coterie.report.content import Origin, gather
    from coterie.report.thumbnails import thumbnails
    from coterie.report.trust import trust_of
    from coterie.report.write import as_read, save

    text = [left.name for left in table.left_out if left.is_text or left.is_identifier]
    details = named(source, choice.ids) or text
    origin = Origin(
        title=printable(Path(source.name).name),
        command=printable(command),
        first_row=1,
        n_rows=table.n_rows,
        facts=(
            ("weights", str(found.model.weights)),
            ("columns", listed(table.columns)),
            *(("dropped", f"{left.name or '(no name)'}: {left.reason}") for left in table.left_out),
        ),
        notes=found.notes,
        option="--n-clusters {}",
    )
    files = source.files if isinstance(source, ImageFolder) else None
    content = gather(
        found.model.clustering_,
        table.encoding.readable(table.values),
        table.names,
        origin,
        numbers=table.rows,
        sizes=sizes.counts,
        n_noise=sizes.noise,
        read=as_read(found.model, table.values),
        describe=lambda rows: read_rows(source, details, table.rows[rows]),
        trust=trust_of(found.model),
        depict=None if files is None else lambda rows: thumbnails(files, rows, table.rows),
    )
    save(content, path)
