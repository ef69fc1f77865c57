"""The recipes of CHiGac: mixtures, digits, activities and documents."""

from dataclasses import replace

from coterie.data.augmentation import DigitViews
from coterie.data.image_episodes import ImageEpisodes
from coterie.data.priors.crowded import CrowdedMixtures
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.data.vector_episodes import VectorEpisodes
from coterie.training.recipe import Recipe, TrainingConfig

# Section 4.2: 200 points and 4 clusters.
CHIGAC_MOG2D = Recipe(
    name="chigac-mog2d",
    system="chigac",
    settings={"columns": 2, "k_max": 4, "slots": 32, "frequencies": 3, "inference": "ai"},
    prior=MixtureOfGaussians(n_max=200, k_max=4),
    training=TrainingConfig(
        steps=10_000,
        sets_per_step=32,
        learning_rate=6e-4,
        warmup=200,
        compile=True,
        capture=True,
        seed=1,
    ),
    trained_on="2-D mixtures of up to 4 axis-aligned Gaussians, 60 to 200 points (DAC, eq. 13)",
)

# The same with many of the sets in a part of the plane.
CHIGAC_MOG2D_CROWDED = replace(
    CHIGAC_MOG2D,
    name="chigac-mog2d-crowded",
    prior=CrowdedMixtures(n_max=200, k_max=4),
    trained_on=f"{CHIGAC_MOG2D.trained_on}, many of them close together",
)

# The same with ergodic inference, as in the paper.
CHIGAC_MOG2D_EAI = replace(
    CHIGAC_MOG2D, name="chigac-mog2d-eai", settings={**CHIGAC_MOG2D.settings, "inference": "eai"}
)

# Section 4.1: a convolutional network in front, z of 100 numbers.
CHIGAC_MNIST = Recipe(
    name="chigac-mnist",
    system="chigac",
    settings={
        "image": (1, 28, 28),
        "convolutions": (32, 64, 128),
        "columns": 128,
        "width": 128,
        "slots": 32,
        "latent": 100,
        "prototypes": 8,
        "k_max": 10,
        "least_members": 3,
    },
    prior=ImageEpisodes(
        "mnist-train",
        n_max=200,
        k_max=10,
        k_min=2,
        images_per_class=40,
        hidden=0.3,
        views=DigitViews(rotation=10, shear=0.1, scale=0.1, shift=0.05, warp=0.03, thick=0.0),
    ),
    training=TrainingConfig(
        steps=12_000,
        sets_per_step=16,
        learning_rate=7e-4,
        weight_decay=0.02,
        compile=True,
        capture=True,
    ),
    trained_on="sets of 2 to 10 digits of MNIST's training images, up to 200 images",
)

# The same without the odd digits, which are then classes that no training has seen.
CHIGAC_MNIST_EVEN = replace(
    CHIGAC_MNIST,
    name="chigac-mnist-even",
    settings={**CHIGAC_MNIST.settings, "prototypes": 4, "k_max": 5},
    prior=replace(CHIGAC_MNIST.prior, pool="mnist-even", k_max=5, images_per_class=60),
    trained_on="sets of 2 to 5 even digits of MNIST's training images, up to 200 images",
)

CHIGAC_HAR = replace(
    CHIGAC_MNIST,
    name="chigac-har",
    settings={
        "columns": 561,
        "point_layers": 2,
        "width": 128,
        "slots": 32,
        "latent": 100,
        "prototypes": 4,
        "k_max": 6,
    },
    prior=VectorEpisodes("har-train", n_max=200, k_max=6, noise=0.05),
    training=TrainingConfig(
        steps=8_000,
        sets_per_step=32,
        learning_rate=7e-4,
        weight_decay=0.05,
        compile=True,
        capture=True,
    ),
    trained_on="sets of up to 6 activities of 21 persons, up to 200 windows of 561 features",
)

# Vectors of length one have numbers of about 1 / sqrt(2000): scaled up to the size of others.
CHIGAC_REUTERS = replace(
    CHIGAC_HAR,
    name="chigac-reuters",
    settings={**CHIGAC_HAR.settings, "columns": 2000, "prototypes": 6, "k_max": 8},
    prior=VectorEpisodes("reuters-train", n_max=200, k_max=8, scale=10.0, noise=0.05),
    trained_on="sets of up to 8 topics of Reuters-21578 (R8), up to 200 documents of 2,000 stems",
)
