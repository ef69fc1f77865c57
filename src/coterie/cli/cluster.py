"""`coterie cluster`: find the clusters of a table."""

import json
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli.category_note import category_notes
from coterie.cli.cluster_images import cluster_images
from coterie.cli.on_engine import Settings, cluster_on_engine, refuse_for_engine
from coterie.cli.options import (
    WRITING,
    Array,
    AsJson,
    Categorical,
    Columns,
    DecimalSign,
    Encoding,
    Ending,
    EngineOption,
    Exclude,
    Files,
    Header,
    Id,
    KeepFormulas,
    LabelsOnly,
    MinClusterSize,
    ModelSeed,
    NClusters,
    NoConfidence,
    Noise,
    Sample,
    Scheduler,
    Separator,
    command_line,
    parse_n_clusters,
    shipped_weights,
)
from coterie.cli.outputs import (
    STANDARD_OUTPUT,
    FitResult,
    Targets,
    draw,
    new_folders,
    refuse_target,
    refuse_targets,
    write_labels,
    write_report,
)
from coterie.cli.progress import stages
from coterie.cli.refusal import refuse, refusing
from coterie.cli.summary import Fit, show, summary
from coterie.importing import imports_of_a_command

if TYPE_CHECKING:
    from coterie.data.tables.table import Table
    from coterie.estimators.amortized import AmortizedClusterer


def cluster(
    context: typer.Context,
    files: Files,
    weights: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A shipped model (see coterie models) or a weights file.",
            autocompletion=shipped_weights,
        ),
    ] = "amcp-universal",
    n_clusters: NClusters = None,
    min_cluster_size: MinClusterSize = 1,
    noise: Noise = False,
    columns: Columns = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    ids: Id = None,
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
    labels_only: LabelsOnly = False,
    no_confidence: NoConfidence = False,
    keep_formulas: KeepFormulas = False,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a self-contained HTML report.", rich_help_panel=WRITING
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Plot the steps in which the clusters were found.",
            rich_help_panel=WRITING,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the fitted model, for coterie predict on later files.",
            rich_help_panel=WRITING,
        ),
    ] = None,
    as_json: AsJson = False,
    sample: Sample = None,
    seed: ModelSeed = None,
    ending: Annotated[
        Ending,
        typer.Option(
            metavar="NAME",
            help="How the final clusters are determined. network: by the network alone; judge: the"
            " best of several methods; em: re-estimated by EM; consolidate: split, merged and"
            " dropped by their likelihood; looks: by further looks at pairs of clusters (CHiGac);"
            " auto: the best of these that the weights support, or a mixture of Gaussians if one"
            " fits the table.",
        ),
    ] = Ending.auto,
    no_consolidate: Annotated[bool, typer.Option("--no-consolidate", hidden=True)] = False,
    engine: EngineOption = None,
    scheduler: Scheduler = None,
) -> None:
    """Cluster the rows of a table; the number of clusters is inferred.

    With weights for images, such as dac-omniglot or mice-mnist: the images of a folder.
    """
    targets = Targets(out, plot, report)
    if engine is not None or scheduler is not None:
        others = {
            "--report": report,
            "--plot": plot,
            "--save": save,
            "--sample": sample,
            "--categorical": categorical,
            "--array": array,
        }
        refuse_for_engine(engine, out, others)
        chosen = Settings(
            weights,
            n_clusters,
            min_cluster_size,
            noise,
            _chosen_ending(ending, no_consolidate),
            seed,
        )
        cluster_on_engine(
            [str(file) for file in files],
            chosen,
            (columns, exclude, ids),
            out,
            scheduler,
            as_json=as_json,
            labels_only=labels_only,
            confident=not no_confidence,
        )
        return
    if no_confidence:
        refuse("--no-confidence needs --engine dask")
    if as_json and out == STANDARD_OUTPUT:
        refuse("--json and --out - would both write to standard output")
    with refusing():
        with imports_of_a_command():
            from coterie.data.tables.columns import Choice, named
            from coterie.data.tables.files import read_as
            from coterie.data.tables.labelled import Output
            from coterie.data.tables.several import opened_together
            from coterie.data.tables.survey import read_table
            from coterie.estimators.registry import (
                clusterer,
                learns_one_collection,
                reads_images,
            )
            from coterie.estimators.streamed_draw import HashedSample

        if reads_images(weights) and (
            learns_one_collection(weights) or all(file.is_dir() for file in files)
        ):
            cluster_images(context, files, targets)
            return
        choice = Choice(
            columns or (), exclude or (), ids or (), categorical=categorical or (), encode=True
        )
        with (
            stages() as begin,
            opened_together(
                files,
                separator=separator,
                encoding=encoding,
                array=array,
                decimal=decimal,
                header=header,
            ) as source,
        ):
            for file in files:
                refuse_targets(file, source, targets)
                refuse_target(file, save)
            made = new_folders(targets)
            model = clusterer(
                weights,
                n_clusters=parse_n_clusters(n_clusters),
                min_cluster_size=min_cluster_size,
                noise=noise,
                ending=_chosen_ending(ending, no_consolidate),
                whole_trace=targets.report is not None,
                random_state=seed,
            )
            table = read_table(
                source,
                choice,
                max_rows=sample,
                progress=begin("reading"),
                sampling=partial(HashedSample, salt=model._salt()),
            )
            begin("finding clusters")
            found = _fit(model, table)
            output = Output(labels_only, named(source, choice.ids), keep_formulas)
            sizes = write_labels(source, table, model, targets.labels, begin, output)
            draw(source, table, model, targets.picture)
            if save is not None:
                model.save(save)
            if targets.report is not None:
                begin("writing the report")
                command = command_line(context)
                write_report(source, table, found, sizes, choice, command, targets.report)
    called = str(files[0]) if len(files) == 1 else source.name
    result = summary(called, table, Fit.of(model), sizes, found.notes)
    result |= {
        "files": [str(file) for file in files],
        "read_as": read_as(source),
        "new_folders": made,
    }
    result |= {name: path and str(path) for name, path in targets._asdict().items()}
    result["saved"] = save and str(save)
    if as_json:
        typer.echo(json.dumps(result))
    else:
        show(result, to_stderr=out == STANDARD_OUTPUT)


def _chosen_ending(ending: Ending, no_consolidate: bool) -> str:
    """The ending asked for; the option of earlier releases stands for "network"."""
    if not no_consolidate:
        return ending.value
    if ending is not Ending.auto:
        refuse(f"--no-consolidate and --ending {ending.value}: give one of them")
    typer.echo("--no-consolidate is deprecated: use --ending network", err=True)
    return Ending.network.value


def _fit(model: "AmortizedClusterer", table: "Table") -> FitResult:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        if table.is_sample and len(table.values) <= model._most_rows():
            model.fit_drawn(table.encoded, table.n_rows)
        else:
            model.fit(table.encoded)
    notes = [str(warning.message) for warning in caught]
    divided = category_notes(table.encoding, table.values, model.labels_)
    every = [*table.notes, *notes, *model.clustering_.warnings, *divided]
    return FitResult(model, tuple(dict.fromkeys(every)))
