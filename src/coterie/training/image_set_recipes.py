"""The recipes of clusterers of images (AMCP, appendix C): data sets by systems, one encoder each.

The classes of the test side are never shown: digits 1, 3, 5, 7, 9 of MNIST, the other five classes
of CIFAR-10, the last 100 of Tiny-ImageNet. All systems have the same encoder, the same sets and the
same number of steps; only the set network differs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from coterie.data.augmentation import PhotoViews
from coterie.data.glyph_episodes import GlyphEpisodes
from coterie.data.image_episodes import ImageEpisodes
from coterie.encoders.resnet import STAGES
from coterie.training.encoded_sets import EncodedImages, EncodedSets
from coterie.training.recipe import Recipe, TrainingConfig
from coterie.weights.catalogue import find
from coterie.weights.format import load_card


@dataclass(frozen=True)
class ImageSets:
    """The sets of a data set to train on, how its images are encoded, and how long that takes."""

    episodes: GlyphEpisodes | ImageEpisodes
    encoder: dict[str, Any]
    sets_per_step: int
    steps: int
    shown: str


WITHOUT_LABELS = ("moco", "mice")
# What one core of a CPU trains in half an hour.
SMALL_ENCODER = {"convolutions": (32, 64, 128), "embedding": 256}
# The smallest set network there is, which learns beside an encoder and is thrown away.
LEAST_NETWORK = {
    "width": 8,
    "heads": 2,
    "references": 2,
    "encoder_blocks": 1,
    "read_width": 8,
    "questions": 1,
    "columns": 4,
}
MANY_CLASSES = 16
ENCODER_STEPS, ENCODER_FALLS = 4_700, (3_000, 3_700, 4_200, 4_500)
FROZEN_STEPS, BANK = 1_200, 800
SMALL_NETWORK: dict[str, Any] = {
    "heads": 4,
    "references": 32,
    "encoder_blocks": 2,
    "activation": "relu",
    "read_width": 32,
    "questions": 8,
    "proposals": 16,
}
MOST_LEAKAGE = 0.3  # letters leave it open, digits do not (docs/images.md)
# Coordinates on a set's principal axes; the encoder learns from neighbours (`systems/items.py`).
ON_AXES = {
    "columns": 16,
    "spherical": False,
    "neighbour_weight": 1.0,
    "set_statistics": False,
    "cluster_scale": 0.4,
}
# The axes of many more images than in training are others; further images are labelled by the rule.
CONTEXT = 1000
# Photographs of one class differ in more than photographs' colours and crops do.
PHOTOS = PhotoViews(crop=0.4)

DATA = {
    "mnist": ImageSets(
        GlyphEpisodes("mnist-even", n_max=256, k_max=8),
        {
            "image": (1, 28, 28),
            "convolutions": (64, 128, 256),
            "embedding": 512,
            "looseness": 1.3,
            "least_share": 0.03,
        },
        sets_per_step=16,
        steps=8_000,
        shown="made-up classes of the MNIST digits 0, 2, 4, 6, 8",
    ),
    "cifar10": ImageSets(
        ImageEpisodes(
            "cifar10-even", n_max=256, k_max=5, concentration=5, any_k=True, views=PHOTOS
        ),
        {
            "image": (3, 32, 32),
            "backbone": "resnet18",
            "embedding": 512,
            "looseness": 1.3,
            "least_share": 0.03,
        },
        sets_per_step=8,
        steps=8_000,
        shown="CIFAR-10's airplanes, birds, deer, frogs and ships",
    ),
    "tinyimagenet": ImageSets(
        ImageEpisodes(
            "tinyimagenet-first",
            n_max=800,
            k_max=100,
            k_min=20,
            images_per_class=20,
            hidden=0.3,
            views=PHOTOS,
        ),
        {
            "image": (3, 64, 64),
            "backbone": "medium",
            "embedding": 512,
            "columns": 64,
            "looseness": 1.2,
            "least_members": 2,
        },
        sets_per_step=2,
        steps=8_000,
        shown="the first 100 classes of Tiny-ImageNet (75 images each)",
    ),
}

# AMCP without coupling: summaries of finished clusters of seen classes mislead on unseen ones.
SET_NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "amcp": (
        "amcp",
        {
            "width": 192,
            "heads": 8,
            "references": 64,
            "encoder_blocks": 3,
            "em_steps": 1,
            "encode_every": 0,
            "decoder_blocks": 0,
            "proposal": "anchor",
            "comparison": True,
            "density_weight": 0.1,
            "overlap_weight": 1.0,
            "questions": 16,
            "read_width": 64,
        },
    ),
    "dac-mlf": ("dac", {"width": 192, "heads": 8, "slots": 64}),
    "dac-af": (
        "dac",
        {
            "filtering": "anchored",
            "density": None,
            "width": 192,
            "heads": 8,
            "slots": 64,
            "encoder_blocks": 3,
            "decoder_blocks": 1,
            "read_width": 64,
            "comparison": True,
            "refinements": 2,
            "encode_once": True,
            "questions": 16,
            "restarts": 4,
        },
    ),
    "ncp": ("ncp", {"most_waiting": 100}),
    "act_st": ("act_st", {"width": 192, "heads": 8, "slots": 64, "encoder_blocks": 3}),
    "chigac": (
        "chigac",
        {"width": 128, "slots": 32, "latent": 100, "prototypes": 8, "inference": "ai"},
    ),
}


def image_set_recipe(
    data: str,
    method: str = "amcp",
    *,
    classes: int | None = None,
    encoder_from: str = "",
    settings: dict[str, Any] | None = None,
    **training: Any,
) -> Recipe:
    """A data set of `DATA` for a method of `SET_NETWORKS`.

    classes: how many of the training classes are shown, None for all; encoder_from: weights of MoCo
    or MiCE whose backbone is the encoder, which then stays as it is; settings and training: what
    differs from the defaults.
    """
    of_data = DATA[data]
    system, network = SET_NETWORKS[method]
    episodes = _of_classes(of_data.episodes, classes)
    if method == "ncp":  # a step of training holds every prefix of every set
        episodes = replace(episodes, n_max=100)
    encoder = {**ON_AXES, **of_data.encoder}
    shown = of_data.shown if classes is None else f"{classes} classes of {of_data.shown}"
    known = {**encoder, **network, "k_max": episodes.k_max, **(settings or {})}
    recipe = Recipe(
        name=f"{method}-{data}",
        system=system,
        settings=known,
        prior=episodes,
        training=TrainingConfig(
            **{
                "steps": of_data.steps,
                "sets_per_step": of_data.sets_per_step,
                "learning_rate": 1e-3,
                "warmup": 300,
                "betas": (0.9, 0.98),
                "weight_decay": 0.02,
                "precision": "bf16-mixed",
                "compile": True,
                "capture": True,
                **training,
            }
        ),
        trained_on=f"sets of up to {episodes.n_max} images of {shown}",
        context_size=CONTEXT,
    )
    return with_encoder(recipe, encoder_from) if encoder_from else recipe


def _of_classes(episodes: Any, n_classes: int | None) -> Any:
    """The sets of the first so many classes; made-up ones stay as many."""
    if n_classes is None or isinstance(episodes, GlyphEpisodes):
        return replace(episodes, classes=n_classes)
    k_max = min(n_classes, episodes.k_max)
    n_max = episodes.n_max
    if episodes.concentration is None:  # no image twice
        n_max = min(n_max, k_max * episodes.images_per_class)
    k_min = min(episodes.k_min, k_max)
    return replace(episodes, classes=n_classes, k_max=k_max, k_min=k_min, n_max=n_max)


def with_encoder(recipe: Recipe, encoder_from: str) -> Recipe:
    """The recipe with the encoder of other weights, which stays as it is.

    They are those of MoCo or MiCE, trained without labels, or of another clusterer of such images:
    several systems may share one encoder.
    """
    if not recipe.settings.get("embedding"):
        raise ValueError(f"recipe {recipe.name!r} has no encoder of images to replace")
    card = load_card(find(encoder_from))
    if card.system in WITHOUT_LABELS:
        depths, first = STAGES[card.settings["backbone"]]
        # The backbone's own vectors.
        encoder = {"backbone": card.settings["backbone"], "embedding": first << (len(depths) - 1)}
        whose = "trained without labels"
    elif card.settings.get("embedding"):
        names = ("backbone", "convolutions", "towers", "embedding")
        encoder = {name: card.settings[name] for name in names if name in card.settings}
        whose = f"of {card.system}, trained on {card.trained_on}"
    else:
        raise ValueError(
            f"{encoder_from} is of the system {card.system!r}, without such an encoder"
        )
    prior = replace(_encoded_once(recipe), encoder=encoder_from)
    shown = recipe.trained_on.replace(f"up to {recipe.prior.n_max} ", f"up to {prior.n_max} ")
    return replace(
        recipe,
        settings={**recipe.settings, **encoder, "neighbour_weight": 0.0},
        prior=prior,
        trained_on=f"{shown}; the encoder {whose}",
        encoder_from=encoder_from,
    )


def _encoded_once(recipe: Recipe) -> EncodedSets | EncodedImages:
    """The recipe's sets as vectors, of which larger sets cost little.

    Photographs are shown as they are: views are for an encoder that learns.
    """
    prior = recipe.prior
    if isinstance(prior, EncodedSets | EncodedImages):
        return prior
    if recipe.system != "ncp":
        prior = replace(prior, n_max=2 * prior.n_max)
    if isinstance(prior, GlyphEpisodes):
        return EncodedSets(prior, "", **_read_as(recipe), bank=BANK)
    return EncodedImages(replace(prior, views=None), "", **_read_as(recipe))


def _read_as(recipe: Recipe) -> dict[str, Any]:
    """How a recipe's set network reads vectors."""
    return {name: recipe.settings[name] for name in ("columns", "looseness", "spherical")}


def mnist_letters() -> Recipe:
    """An encoder that learns from letters too, to be joined with one of digits alone."""
    recipe = image_set_recipe(
        "mnist",
        settings={**LEAST_NETWORK, "embedding": 256},
        steps=3_000,
        learning_rate=2e-3,
    )
    return replace(
        recipe,
        name="amcp-mnist-letters",
        settings={**recipe.settings, "k_max": MANY_CLASSES},
        prior=replace(recipe.prior, pool="mnist-even-letters", k_max=MANY_CLASSES),
        trained_on=f"{recipe.trained_on} and of EMNIST's letters",
    )


def mnist_encoder() -> Recipe:
    """An encoder for `amcp-mnist-frozen`, by one core of a CPU."""
    recipe = image_set_recipe(
        "mnist",
        settings={**LEAST_NETWORK, **SMALL_ENCODER, "activation": "relu"},
        sets_per_step=8,
        steps=ENCODER_STEPS,
        learning_rate=2e-3,
        falls=ENCODER_FALLS,
        fall=0.4,
    )
    return replace(
        recipe,
        name="amcp-mnist-encoder",
        prior=replace(recipe.prior, n_max=128, least=1.0),
        trained_on=recipe.trained_on.replace("up to " + str(recipe.prior.n_max), "128"),
    )


def mnist_frozen() -> Recipe:
    """AMCP on the vectors of that encoder, which stays as it is (`--encoder`)."""
    recipe = image_set_recipe(
        "mnist",
        settings={
            **SMALL_ENCODER,
            **SMALL_NETWORK,
            "width": 64,
            "most_leakage": MOST_LEAKAGE,
        },
        steps=FROZEN_STEPS,
        sets_per_step=12,
        precision="32-true",
    )
    episodes = replace(recipe.prior, n_max=192)
    return replace(
        recipe,
        name="amcp-mnist-frozen",
        prior=EncodedSets(episodes, "", **_read_as(recipe), bank=BANK),
        trained_on=recipe.trained_on.replace(str(recipe.prior.n_max), str(episodes.n_max)),
    )


def cifar10_frozen() -> Recipe:
    """AMCP by one core of a CPU, on the vectors of an encoder that was trained without labels.

    Few axes hold what tells the classes of such an encoder apart, and only the angles between its
    vectors do: given k, k-means is more accurate where vectors have one length, on most numbers of
    axes (`benchmarks/image_axes.py`).
    """
    recipe = image_set_recipe(
        "cifar10",
        settings={
            **SMALL_NETWORK,
            "width": 64,
            "columns": 6,
            "spherical": True,
            "least_share": 0.05,
        },
        steps=1_500,
        sets_per_step=12,
        precision="32-true",
    )
    episodes = replace(recipe.prior, views=None)
    return replace(
        recipe,
        name="amcp-cifar10-frozen",
        prior=EncodedImages(episodes, "", **_read_as(recipe)),
    )


def image_set_recipes(data: str) -> list[Recipe]:
    """The recipes of all methods on a data set."""
    return [image_set_recipe(data, method) for method in SET_NETWORKS]


IMAGE_SET_RECIPES: dict[str, Callable[..., Recipe]] = {
    "amcp-mnist-letters": mnist_letters,
    "amcp-mnist-encoder": mnist_encoder,
    "amcp-mnist-frozen": mnist_frozen,
    "amcp-cifar10-frozen": cifar10_frozen,
    **{
        f"{method}-{data}": partial(image_set_recipe, data, method)
        for data in DATA
        for method in SET_NETWORKS
    },
}
