"""The recipes of MiCE and MoCo on public image collections, measured in epochs."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.data.augmentation import DigitViews, PhotoViews
from coterie.data.collections import ImageCollection
from coterie.encoders.resnet import Backbone
from coterie.training.recipe import Recipe, TrainingConfig

N_VIEWS = {"mice": 3, "moco": 2}
LARGEST_BATCH = 256
MANY_STEPS = 100_000  # from here on, the momentum of the paper
LEAST_SPREAD = 1 / 255  # of a channel; a constant one has none
MILD: dict[str, Any] = {"rotation": 15.0, "shear": 0.2, "scale": 0.15, "warp": 0.05}


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
    cosine: bool = False,
    checkpoint_every: int = 10,
    source: dict[str, Any] | None = None,
    views: dict[str, Any] | None = None,
    **training: Any,
) -> Recipe:
    """CIFAR-10 as in the paper (appendix D), with rate drops at the same fractions of the run.

    The paper's backbone is resnet34. cosine: the rate falls smoothly instead. source, views and
    training override the defaults.
    """
    photos = ImageCollection("cifar10", 60_000, PhotoViews(**(views or {})), batch=256)
    return collection_recipe(
        f"{system}-cifar10",
        system,
        replace(photos, **(source or {})),
        epochs=epochs,
        settings={"backbone": backbone, "shape": (32, 32)},
        falls=() if cosine else tuple(share * epochs for share in (0.48, 0.64, 0.8)),
        warmup=min(10, epochs * 0.04),
        checkpoint_every=checkpoint_every,
        **{"learning_rate": 1.0, **training},
    )


def mnist_recipe(
    system: str = "mice",
    *,
    epochs: int = 30,
    source: dict[str, Any] | None = None,
    views: dict[str, Any] | None = None,
    **training: Any,
) -> Recipe:
    """MNIST with a small backbone, views suited to digits, and a cosine schedule of the rate.

    Milder views than the defaults gave clusters of the same accuracy in half the epochs; more
    epochs change little (`weights/mice-mnist.md`).
    """
    digits = ImageCollection("mnist", 70_000, DigitViews(**{**MILD, **(views or {})}), batch=256)
    return collection_recipe(
        f"{system}-mnist",
        system,
        replace(digits, **(source or {})),
        epochs=epochs,
        settings={
            "backbone": "medium",
            "mean": (0.1307,),
            "std": (0.3081,),
            "shape": (28, 28),
            "queue": 8_192,
            "momentum": 0.996,  # lower than the paper's, for a fifth of its steps
        },
        warmup=min(10, epochs * 0.04),
        checkpoint_every=10,
        **{"learning_rate": 0.5, **training},
    )


def recipe_of_images(
    name: str,
    images: NDArray[np.uint8],
    *,
    n_clusters: int,
    backbone: Backbone | None = None,
    epochs: int = 200,
    seed: int = 0,
    most: int = LARGEST_BATCH,
    checkpoint_every: int = 1,
    **training: Any,
) -> Recipe:
    """MiCE on somebody's own images (n, C, H, W), which are held under a name.

    Colour images get the views and the schedule of the paper and, by default, a ResNet-18; grey
    ones the views, the schedule and the backbone of our MNIST recipe. The queue holds an eighth of
    the images, as there: a queue of all of them would hold the key of every image itself. most: the
    largest number of images in a step.
    """
    n_images, channels, *shape = images.shape
    batch = min(LARGEST_BATCH, most, n_images)
    in_colour = channels == 3
    views: PhotoViews | DigitViews = PhotoViews() if in_colour else DigitViews(**MILD)
    backbone = backbone or ("resnet18" if in_colour else "medium")
    mean, std = channel_statistics(images)
    large = backbone in ("resnet18", "resnet34")
    long = epochs * (n_images // batch) >= MANY_STEPS
    return collection_recipe(
        "mice",
        "mice",
        ImageCollection(name, n_images, views, batch=batch, seed=seed),
        epochs=epochs,
        settings={
            "backbone": backbone,
            "mean": mean,
            "std": std,
            "shape": tuple(shape),
            "queue": max(batch, min(16_384, n_images // 8 // batch * batch)),
            "momentum": 0.999 if long else 0.996,
            "n_clusters": n_clusters,
        },
        falls=tuple(share * epochs for share in (0.48, 0.64, 0.8)) if large else (),
        warmup=min(10, epochs * 0.04),
        checkpoint_every=checkpoint_every,
        **{"learning_rate": 1.0 if large else 0.5, "seed": seed, **training},
    )


def channel_statistics(
    images: NDArray[np.uint8],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The mean and the standard deviation of each channel of images (n, C, H, W), in [0, 1]."""
    counts = [np.bincount(channel.ravel(), minlength=256) for channel in images.swapaxes(0, 1)]
    values = np.arange(256) / 255
    means = [float(count @ values / count.sum()) for count in counts]
    spreads = [
        float(np.sqrt(count @ (values - mean) ** 2 / count.sum()))
        for count, mean in zip(counts, means, strict=True)
    ]
    return tuple(means), tuple(max(spread, LEAST_SPREAD) for spread in spreads)


IMAGE_RECIPES: dict[str, Callable[..., Recipe]] = {
    "mice-mnist": partial(mnist_recipe, "mice"),
    "moco-mnist": partial(mnist_recipe, "moco"),
    "mice-cifar10": partial(cifar10_recipe, "mice"),
    "moco-cifar10": partial(cifar10_recipe, "moco"),
}
