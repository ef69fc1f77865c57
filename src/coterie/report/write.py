"""Write the report of a fitted model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from coterie.files.replacing import replacing
from coterie.inference.result import Clustering
from coterie.report.content import Content, Depict, Describe, Origin, gather
from coterie.report.page import render
from coterie.report.plane import plane_of_posteriors
from coterie.report.thumbnails import thumbnails, thumbnails_of_pixels
from coterie.report.trust import trust_of


def write_report(
    model: Any,
    X: ArrayLike,
    path: Path | str,
    *,
    names: Sequence[str] | None = None,
    details: Mapping[str, Sequence[Any]] | None = None,
    images: Sequence[Path | str] | None = None,
    title: str = "X",
) -> Path:
    """Write a report on a fitted model and its fitted rows X (n, d), or images for `MiCE`.

    names: of the d columns, by default those of a data frame; details: additional columns of n
    cells to show with a row, such as its name; images: n image files, if the rows are images or
    vectors of them: the report then shows small copies instead of columns; title: name of the data.
    For `MiCE` the copies are made of X where there are no files.
    """
    if hasattr(model, "embed"):
        return _write_of_images(model, X, path, details=details, images=images, title=title)
    points, called = _numbers(model, X)
    n_rows = len(model.labels_)
    if len(points) != n_rows:
        raise ValueError(f"X must be the {n_rows} rows of the fit, got shape {points.shape}")
    names = tuple(map(str, called if names is None else names))
    if len(names) != points.shape[1]:
        raise ValueError(f"{len(names)} names for {points.shape[1]} columns")
    if images is not None:
        _refuse_images(images, n_rows)
    origin = _origin(model, path, title)
    content = gather(
        model.clustering_,
        points,
        names,
        origin,
        read=as_read(model, points),
        describe=_describe(details, n_rows),
        trust=trust_of(model),
        depict=None if images is None else lambda rows: thumbnails(images, rows),
    )
    return save(content, path)


def content_of_images(
    clustering: Clustering,
    embedded: np.ndarray,
    origin: Origin,
    depict: Depict,
    describe: Describe | None = None,
) -> Content:
    """The content of a report on images with embeddings (n, d), drawn by their posteriors."""
    return gather(
        clustering,
        embedded.astype(np.float64),
        tuple(f"embedding {number}" for number in range(1, embedded.shape[1] + 1)),
        origin,
        describe=describe,
        depict=depict,
        plane=plane_of_posteriors(clustering.probabilities),
    )


def _write_of_images(
    model: Any,
    X: Any,
    path: Path | str,
    *,
    details: Mapping[str, Sequence[Any]] | None,
    images: Sequence[Path | str] | None,
    title: str,
) -> Path:
    n_rows = len(model.labels_)
    if len(X) != n_rows:
        raise ValueError(f"X must be the {n_rows} images of the fit, got {len(X)}")
    if images is not None:
        _refuse_images(images, n_rows)
    depict: Depict = (
        (lambda rows: thumbnails_of_pixels(X, rows))
        if images is None
        else (lambda rows: thumbnails(images, rows))
    )
    origin = _origin(model, path, title)
    describe = _describe(details, n_rows)
    embedded = model.embed(X)
    return save(content_of_images(model.clustering_, embedded, origin, depict, describe), path)


def _origin(model: Any, path: Path | str, title: str) -> Origin:
    return Origin(
        title=title,
        command=f"model = coterie.{model!r}.fit(X)\ncoterie.write_report(model, X, {str(path)!r})",
        facts=(("weights", str(model.weights)),),
        notes=tuple(model.clustering_.warnings),
    )


def save(content: Content, path: Path | str) -> Path:
    """Render a content and write the page atomically."""
    path = Path(path)
    page = render(content)
    with replacing(path) as part:
        part.write_text(page, encoding="utf-8")
    return path


def as_read(model: Any, points: np.ndarray) -> np.ndarray | None:
    """The points in the frame of the model's network, if it has one."""
    fitted = getattr(model, "fitted_", None)
    return None if fitted is None else fitted.frame(points)


def _numbers(model: Any, X: Any) -> tuple[np.ndarray, Sequence[str]]:
    """The rows of X as numbers (n, d), encoded as in fit, and the names of the d columns."""
    encoding = getattr(model, "_encoding", None)
    if encoding is not None:  # a data frame, whose categories became columns
        return np.asarray(encoding(X)[0], dtype=np.float64), encoding.names
    points = np.asarray(X, dtype=np.float64)
    points = points[:, None] if points.ndim == 1 else points
    if points.shape[1:] != (model.n_features_in_,):
        raise ValueError(f"X has shape {points.shape}, the fit had {model.n_features_in_} columns")
    given = getattr(X, "column_names", getattr(X, "columns", None))
    if given is None:
        given = [f"x{i + 1}" for i in range(points.shape[1])]
    return points, list(given)


def _refuse_images(images: Sequence[Path | str], n_rows: int) -> None:
    if len(images) != n_rows:
        raise ValueError(f"{len(images)} images for {n_rows} rows")
    for row, file in enumerate(images):
        if not Path(file).is_file():
            raise ValueError(f"the image of row {row} is not a file: {file}")


def _describe(details: Mapping[str, Sequence[Any]] | None, n_rows: int) -> Describe | None:
    if details is None:
        return None
    for name, cells in details.items():
        if len(cells) != n_rows:
            raise ValueError(f"details {name!r} has {len(cells)} cells for {n_rows} rows")
    columns = {str(name): np.asarray(cells) for name, cells in details.items()}
    return lambda rows: {name: [str(c) for c in cells[rows]] for name, cells in columns.items()}
