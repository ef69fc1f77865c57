"""A small network of every system, and the estimator that serves it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

import coterie
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

SIDE = 8  # pixels
IMAGE = {"image": (1, SIDE, SIDE), "convolutions": (4, 4)}
BLOCKS = {"width": 16, "heads": 2, "encoder_blocks": 1}
AMCP = {**BLOCKS, "references": 4, "em_steps": 1, "decoder_blocks": 0, "read_width": 8}
DAC = {**BLOCKS, "slots": 2, "decoder_blocks": 1, "k_max": 2}
NCP = {"width": 8, "layers": 1, "point_width": 8, "cluster_width": 8}
CHIGAC = {**BLOCKS, "slots": 4, "latent": 8, "read_width": 8, "samples": 2, "inner_steps": 2}
MICE = {
    "backbone": "small",
    "mean": (0.2,),
    "std": (0.3,),
    "shape": (SIDE, SIDE),
    "width": 8,
    "queue": 8,
    "n_clusters": 3,
}


class Small(NamedTuple):
    """A system with settings of a small network, and the estimator of its weights."""

    system: str
    settings: dict[str, Any]
    estimator: Callable[..., Any]


SMALL = {
    "amcp": Small("amcp", {**AMCP, "refinements": 1}, coterie.AMCP),
    "amcp of images": Small("amcp", {**AMCP, **IMAGE, "columns": 3, "embedding": 6}, coterie.AMCP),
    "dac": Small("dac", DAC, coterie.DAC),
    "dac, anchored": Small(
        "dac", {**DAC, "filtering": "anchored", "density": None, "proposals": 2}, coterie.DAC
    ),
    "dac with flows": Small(
        "dac",
        {**DAC, "density": "maf", "context": 4, "flow_blocks": 1, "flow_width": 8},
        coterie.DAC,
    ),
    "dac with statisticians": Small(
        "dac",
        {**DAC, "density": "neural_statistician", "columns": SIDE**2, "context": 4, "latent": 4},
        coterie.DAC,
    ),
    "dac of images": Small(
        "dac", {**DAC, **IMAGE, "density": None, "filtering": "anchored"}, coterie.DAC
    ),
    "act_st": Small("act_st", {**DAC, "further_steps": 2}, coterie.ACTST),
    "ncp": Small("ncp", NCP, coterie.NCP),
    "ncp of images": Small("ncp", {**NCP, **IMAGE}, coterie.NCP),
    "chigac": Small("chigac", CHIGAC, coterie.CHiGac),
    "chigac of images": Small("chigac", {**CHIGAC, **IMAGE, "columns": 4}, coterie.CHiGac),
    "mice": Small("mice", MICE, coterie.MiCE),
}


def write_small(name: str, path: Path) -> None:
    """Weights of a small network, drawn from a seed."""
    small = SMALL[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = build(small.system, small.settings)
    save_system(path, system, make_card(system, trained_on="nothing", seed=0))


def items(name: str) -> NDArray[Any]:
    """Rows (60, 2), rows of pixels or images for a small network."""
    random, small = np.random.default_rng(0), SMALL[name]
    if small.system == "mice" or "image" in small.settings:
        return (random.random((20, SIDE, SIDE)) * 255).astype(np.uint8)
    if small.settings.get("density") == "neural_statistician":
        return random.random((20, SIDE**2))
    return random.normal(size=(60, 2))


def write_model(name: str, path: Path) -> bytes:
    """The file of an estimator that was fitted with the weights at a path."""
    saved = path.with_name("model.safetensors")
    _fitted(name, path).save(saved)
    return saved.read_bytes()


def serve(name: str, path: Path) -> str:
    """Whether weights serve: labels of a set, and memberships that are such; else what is wrong."""
    model = _fitted(name, path)
    labels = model.labels_
    if len(labels) != len(items(name)) or not _in_range(labels, model):
        return "labels out of range"
    return answer(name, model)


def answer(name: str, model: Any) -> str:
    """Whether a fitted model serves: memberships that are such; else what is wrong."""
    points = items(name)
    labels, probabilities = model.predict(points), model.predict_proba(points)
    if len(labels) != len(points) or not _in_range(labels, model):
        return "labels out of range"
    if probabilities.shape != (len(points), model.n_clusters_):
        return f"probabilities of shape {probabilities.shape}"
    if not np.isfinite(probabilities).all() or abs(probabilities.sum(1) - 1).max() > 1e-6:
        return "probabilities that are none"
    return "served"


def _fitted(name: str, path: Path) -> Any:
    return SMALL[name].estimator(str(path), random_state=0).fit(items(name))


def _in_range(labels: NDArray[Any], model: Any) -> bool:
    """Whether labels are of clusters; a model may also call rows noise."""
    least = -1 if getattr(model, "fitted_", None) is not None and model.fitted_.noise else 0
    return bool(least <= labels.min() <= labels.max() < model.n_clusters_)
