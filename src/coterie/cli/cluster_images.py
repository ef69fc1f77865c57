"""`coterie cluster` with weights for images: label a folder by a network that was trained."""

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import typer

from coterie.cli.options import command_line, parse_n_clusters
from coterie.cli.outputs import STANDARD_OUTPUT, Targets, new_folders, refuse_target
from coterie.cli.printable import printable
from coterie.cli.progress import stages
from coterie.cli.refusal import refuse
from coterie.cli.summary import show

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coterie.data.pixels import Pixels
    from coterie.estimators.amortized import AmortizedClusterer
    from coterie.estimators.mice import MiCE

# The options that mean something here.
OPTIONS = {"files", "weights", "n_clusters", "out", "labels_only", "keep_formulas"}
OPTIONS |= {"report", "save", "as_json", "seed"}
OF_ESTIMATOR = {"min_cluster_size", "noise", "ending"}  # where clusters are not those of training


def cluster_images(context: typer.Context, files: list[Path], targets: Targets) -> None:
    """Label the images of a folder, write them and a report, and print a summary."""
    from coterie.data.pixels import read_pixels
    from coterie.estimators.registry import image_clusterer, learns_one_collection
    from coterie.weights.catalogue import open_card

    given = context.params
    weights, save = given["weights"], given["save"]
    fixed = learns_one_collection(weights)
    _refuse_options(context, files, targets, save, OPTIONS if fixed else OPTIONS | OF_ESTIMATOR)
    n_clusters = parse_n_clusters(given["n_clusters"])
    if fixed and isinstance(n_clusters, tuple):
        refuse(
            "--n-clusters: the weights have a fixed number of clusters; pass a number, not a range"
        )
    settings = {} if fixed else {name: given[name] for name in OF_ESTIMATOR}
    model: Any = image_clusterer(
        weights, n_clusters=n_clusters, random_state=given["seed"], **settings
    )
    traits = open_card(weights).traits
    channels, height, width = traits.image or traits.item_shape
    if height < 0:
        refuse(f"weights {weights} do not specify the size of the images that they read")
    made = new_folders(targets)
    with stages() as begin:
        begin("reading")
        pixels = read_pixels(files[0], (channels, height, width))
        begin("finding clusters")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the clustering has them too
            model.fit(pixels.images)
            if targets.labels is not None:
                _write_labels(model, pixels, targets.labels, formulas=given["keep_formulas"])
            if save is not None:
                model.save(save)
            if targets.report is not None:
                begin("writing the report")
                command = command_line(context)
                _write_report(model, pixels, files[0], command, targets.report)
    result = _summary(files[0], model, pixels.notes)
    result |= {"new_folders": made, "saved": save and str(save)}
    result |= {name: path and str(path) for name, path in targets._asdict().items()}
    if given["as_json"]:
        typer.echo(json.dumps(result))
    else:
        show(result, to_stderr=targets.labels == STANDARD_OUTPUT)


def _refuse_options(
    context: typer.Context,
    files: list[Path],
    targets: Targets,
    save: Path | None,
    options: set[str],
) -> None:
    """Reject what cannot be, before the work begins."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE" and parameter.name not in options:
            refuse(f"{parameter.opts[0]} does not apply to weights for images")
    if len(files) != 1:
        refuse("weights for images cluster one folder of images")
    labels = targets.labels
    if labels not in (None, STANDARD_OUTPUT) and labels.suffix.lower() != ".csv":
        _refuse_suffix(labels, "the clusters of images", ".csv")
    if targets.report is not None and targets.report.suffix.lower() not in (".html", ".htm"):
        _refuse_suffix(targets.report, "a report", ".html")
    if save is not None and save.suffix != ".safetensors":
        _refuse_suffix(save, "a model of images", ".safetensors")
    for target in (*targets, save):
        refuse_target(files[0], target)


def _refuse_suffix(path: Path, kind: str, suffix: str) -> NoReturn:
    refuse(f"cannot write {path}; {kind} must end in {suffix}")


def _write_labels(
    model: "MiCE | AmortizedClusterer", pixels: "Pixels", path: Path, *, formulas: bool
) -> None:
    """A CSV file of names, clusters and confidence, or the same on standard output."""
    from coterie.data.tables.formulas import without_formulas
    from coterie.data.tables.image_folder import FILE
    from coterie.data.tables.numerals import POINT
    from coterie.data.tables.table import ADDED, polars
    from coterie.files.replacing import replacing

    columns = (pixels.names, model.labels_, model.clustering_.confidence)
    frame = polars().DataFrame(dict(zip((FILE, *ADDED), columns, strict=True)))
    if not formulas:
        frame = without_formulas(frame, POINT)
    text = frame.write_csv(float_precision=6)
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def _write_report(model: Any, pixels: "Pixels", folder: Path, command: str, path: Path) -> None:
    """A report whose rows are the embeddings of the images, or their pixels."""
    from coterie.report.content import Origin
    from coterie.report.thumbnails import thumbnails
    from coterie.report.write import content_of_images, save

    channels, height, width = pixels.images.shape[1:]
    origin = Origin(
        title=printable(folder.name),
        command=printable(command),
        first_row=1,
        n_rows=len(pixels.files),
        facts=(
            ("weights", str(model.weights)),
            ("images", f"{height} x {width} pixels, {'grey' if channels == 1 else 'colour'}"),
        ),
        notes=(*pixels.notes, *model.clustering_.warnings),
        option="--n-clusters {}",
    )
    content = content_of_images(
        model.clustering_,
        _embedded(model, pixels),
        origin,
        depict=lambda rows: thumbnails(pixels.files, rows),
        describe=lambda rows: {"file": [pixels.names[row] for row in rows]},
    )
    save(content, path)


def _embedded(model: Any, pixels: "Pixels") -> "NDArray[Any]":
    """The vectors of the images (n, d): those of the encoder where there is one."""
    if hasattr(model, "embed"):
        return cast("NDArray[Any]", model.embed(pixels.images))
    return pixels.images.reshape(len(pixels.images), -1) / 255


def _summary(folder: Path, model: Any, notes: tuple[str, ...]) -> dict[str, Any]:
    """The result as a JSON object, with the names of the one for tables."""
    clustering = model.clustering_
    confidence = clustering.confidence
    members = [clustering.labels == cluster for cluster in range(clustering.n_clusters)]
    return {
        "file": str(folder),
        "files": [str(folder)],
        "rows": len(clustering.labels),
        "read_rows": len(clustering.labels),
        "fitted_rows": len(clustering.labels),
        "columns": [],
        "left_out": [],
        "weights": str(model.weights),
        "n_clusters": clustering.n_clusters,
        "clusters": [
            {
                "cluster": number,
                "size": int(member.sum()),
                "mean_confidence": round(float(confidence[member].mean()), 6),
            }
            for number, member in enumerate(members)
        ],
        "noise": int((clustering.labels < 0).sum()),
        "mean_log_likelihood": None,
        "notes": [*notes, *clustering.warnings],
    }
