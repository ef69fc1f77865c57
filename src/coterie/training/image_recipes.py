"""The recipes of MiCE and MoCo on public image collections, measured in epochs."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from coterie.data.augmentation import DigitViews, PhotoViews
from coterie.data.collections import ImageCollection
from coterie.training.recipe import Recipe, TrainingConfig

N_VIEWS = {"mice": 3, "moco": 2}


def collection_recipe(
    name: str,
    system: str,
    source: ImageCollection,
    *,
    epochs: int,
    settings: dict[str, Any],
    falls: tuple[float, ...] = (),
    warmup: float = 10,
    checkpoint_every: int = 1,
    **training: Any,
) -> Recipe:
    """A recipe whose length, warm-up, rate drops and checkpoints are given in epochs."""
    pace = source.steps_per_epoch
    common = {"clip": None, "precision": "bf16-mixed", "compile": True, "capture": True}
    return Recipe(
        name=name,
        system=system,
        settings=settings,
        prior=replace(source, n_views=N_VIEWS[system]),
        training=TrainingConfig(
            steps=epochs * pace,
            sets_per_step=1,
            warmup=round(warmup * pace),
            falls=tuple(round(fall * pace) for fall in falls),
            checkpoint_every=checkpoint_every * pace,
            **{**common, **training},
        ),
        trained_on=f"{source.n_images:,} images of {source.name}, without labels",
    )


def cifar10_recipe(
    system: str,
    *,
    epochs: int = 1000,
    backbone: str = "resnet18",
    source: dict[str, Any] | None = None,
    views: dict[str, Any] | None = None,
    **training: Any,
) -> Recipe:
    """CIFAR-10 as in the paper (appendix D), with rate drops at the same fractions of the run.

    The paper's backbone is resnet34. source, views and training override the defaults.
    """
    photos = ImageCollection("cifar10", 60_000, PhotoViews(**(views or {})), batch=256)
    return collection_recipe(
        f"{system}-cifar10",
        system,
        replace(photos, **(source or {})),
        epochs=epochs,
        settings={"backbone": backbone},
        falls=tuple(share * epochs for share in (0.48, 0.64, 0.8)),
        warmup=min(10, epochs * 0.04),
        checkpoint_every=10,
        **{"learning_rate": 1.0, **training},
    )


def mnist_recipe(
    system: str = "mice",
    *,
    epochs: int = 200,
    source: dict[str, Any] | None = None,
    views: dict[str, Any] | None = None,
    **training: Any,
) -> Recipe:
    """MNIST with a small backbone, views suited to digits, and a cosine schedule of the rate."""
    digits = ImageCollection("mnist", 70_000, DigitViews(**(views or {})), batch=256)
    return collection_recipe(
        f"{system}-mnist",
        system,
        replace(digits, **(source or {})),
        epochs=epochs,
        settings={
            "backbone": "small",
            "mean": (0.1307,),
            "std": (0.3081,),
            "queue": 8_192,
            "momentum": 0.996,  # lower than the paper's, for a fifth of its steps
        },
        warmup=min(10, epochs * 0.04),
        checkpoint_every=10,
        **{"learning_rate": 0.5, **training},
    )


IMAGE_RECIPES: dict[str, Callable[..., Recipe]] = {
    "mice-mnist": partial(mnist_recipe, "mice"),
    "moco-mnist": partial(mnist_recipe, "moco"),
    "mice-cifar10": partial(cifar10_recipe, "mice"),
    "moco-cifar10": partial(cifar10_recipe, "moco"),
}
