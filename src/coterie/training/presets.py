"""The recipes of the shipped models, and two for training on a CPU."""

from dataclasses import replace

from coterie.data.augmentation import DigitViews
from coterie.data.image_episodes import ImageEpisodes
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.data.priors.universal import Universal
from coterie.data.priors.warped import WarpedGaussians
from coterie.training.chigac_recipes import (
    CHIGAC_HAR,
    CHIGAC_MNIST,
    CHIGAC_MNIST_EVEN,
    CHIGAC_MOG2D,
    CHIGAC_MOG2D_CROWDED,
    CHIGAC_MOG2D_EAI,
    CHIGAC_REUTERS,
)
from coterie.training.episode_recipes import DAC_OMNIGLOT
from coterie.training.image_set_recipes import IMAGE_SET_RECIPES
from coterie.training.recipe import Recipe, TrainingConfig
from coterie.training.universal import (
    AMCP_UNIVERSAL,
    AMCP_UNIVERSAL_SMALL,
    AMCP_UNIVERSAL_TABLES,
)

DAC_MOG2D = Recipe(
    name="dac-mog2d",
    system="dac",
    settings={"columns": 2, "k_max": 4},
    prior=MixtureOfGaussians(n_max=1000, k_max=4),
    training=TrainingConfig(steps=12_000, sets_per_step=128, compile=True),
    trained_on="2-D mixtures of up to 4 axis-aligned Gaussians, 300 to 1,000 points (DAC, eq. 13)",
)

# The sets of DAC. The encoder alone tells the clusters apart, so it has a block more.
ACT_ST_MOG2D = replace(
    DAC_MOG2D,
    name="act_st-mog2d",
    system="act_st",
    settings={"columns": 2, "k_max": 4, "encoder_blocks": 3},
    training=TrainingConfig(steps=14_000, sets_per_step=128, compile=True, capture=True),
)

# Trained on small sets, as in DAC's Table 5: a step of training holds every prefix of every set.
NCP_MOG2D = Recipe(
    name="ncp-mog2d",
    system="ncp",
    settings={"columns": 2, "k_max": 4},
    prior=MixtureOfGaussians(n_max=100, k_max=4),
    training=TrainingConfig(steps=20_000, sets_per_step=128, compile=True, capture=True),
    trained_on="2-D mixtures of up to 4 axis-aligned Gaussians, 30 to 100 points (DAC, eq. 13)",
    context_size=3000,
)

DAC_WARPED2D = replace(
    DAC_MOG2D,
    name="dac-warped2d",
    settings={"columns": 2, "k_max": 4, "density": "maf"},
    prior=WarpedGaussians.as_published(n_max=1000, k_max=4),
    training=TrainingConfig(steps=30_000, sets_per_step=128, compile=True, capture=True),
    trained_on="2-D mixtures of up to 4 warped Gaussians, 300 to 1,000 points (DAC, appendix D)",
)

# Each image is binarised anew whenever it is drawn, and moved and bent a little: there are 680
# images of a class to learn from.
DAC_EMNIST = replace(
    DAC_MOG2D,
    name="dac-emnist",
    settings={"columns": 784, "k_max": 4, "density": "neural_statistician", "width": 192},
    prior=ImageEpisodes(
        "emnist-seen-train",
        n_max=160,
        k_max=4,
        concentration=5,
        views=DigitViews(rotation=6, shear=0.1, scale=0.06, shift=0.04, warp=0.02, thick=0.0),
        binary=True,
        flat=True,
    ),
    training=TrainingConfig(steps=14_000, sets_per_step=64, compile=True, capture=True),
    trained_on="sets of up to 4 of 30 characters of EMNIST, 48 to 160 binary images (DAC,"
    " appendix E)",
)

# Points are encoded once for all clusters, clusters are proposed from anchors, and a narrow head
# computes the memberships of each cluster.
ANCHORED = {
    "columns": 2,
    "encode_every": 0,
    "proposal": "anchor",
    "coupling": True,
    "questions": 8,
    "encoder_blocks": 3,
    "em_steps": 1,
    "decoder_blocks": 0,
    "read_width": 32,
}

AMCP_MOG2D = replace(
    DAC_MOG2D,
    name="amcp-mog2d",
    system="amcp",
    settings={**ANCHORED, "encoder_blocks": 2, "activation": "relu", "k_max": 4, "width": 64},
    training=TrainingConfig(
        steps=16_500, sets_per_step=64, learning_rate=1e-3, compile=True, capture=True
    ),
)

# For experiments on a CPU, above all with your own tables: about a minute.
AMCP_SMALL = replace(
    AMCP_MOG2D,
    name="amcp-small",
    settings={
        **ANCHORED,
        "k_max": 4,
        "width": 32,
        "read_width": 16,
        "heads": 2,
        "references": 8,
        "encoder_blocks": 2,
        "questions": 6,
    },
    prior=MixtureOfGaussians(n_max=250, k_max=4),
    training=TrainingConfig(steps=700, sets_per_step=8, learning_rate=3e-3, warmup=20),
    trained_on="2-D mixtures of up to 4 axis-aligned Gaussians, 75 to 250 points (DAC, eq. 13)",
)

AMCP_MOG2D_WIDE = replace(
    AMCP_MOG2D,
    name="amcp-mog2d-wide",
    settings={**ANCHORED, "k_max": 12, "width": 128},
    prior=MixtureOfGaussians(n_max=1000, k_max=12),
    training=replace(AMCP_MOG2D.training, steps=22_000, learning_rate=7e-4),
    trained_on="2-D mixtures of up to 12 axis-aligned Gaussians, 300 to 1,000 points (DAC, eq. 13)",
)

AMCP_WARPED2D = replace(
    AMCP_MOG2D_WIDE,
    name="amcp-warped2d",
    settings={**ANCHORED, "k_max": 12, "width": 128, "density": "none"},
    prior=WarpedGaussians(n_max=1000, k_max=12),
    training=replace(AMCP_MOG2D_WIDE.training, steps=60_000),
    trained_on="2-D mixtures of up to 12 warped Gaussians, 300 to 1,000 points (DAC, eq. 16)",
)

# The universal model fine-tuned on your own sets: minutes on a CPU.
AMCP_TUNED = replace(
    AMCP_UNIVERSAL,
    name="amcp-tuned",
    prior=Universal(n_max=250),
    training=TrainingConfig(steps=100, sets_per_step=8, learning_rate=1e-4, warmup=20),
    start_from="amcp-universal",
    kept=0.5,
)

PRESETS: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        DAC_MOG2D,
        ACT_ST_MOG2D,
        NCP_MOG2D,
        CHIGAC_MOG2D,
        CHIGAC_MOG2D_CROWDED,
        CHIGAC_MOG2D_EAI,
        CHIGAC_MNIST,
        CHIGAC_MNIST_EVEN,
        CHIGAC_HAR,
        CHIGAC_REUTERS,
        DAC_OMNIGLOT,
        DAC_WARPED2D,
        DAC_EMNIST,
        AMCP_SMALL,
        AMCP_MOG2D,
        AMCP_MOG2D_WIDE,
        AMCP_WARPED2D,
        AMCP_UNIVERSAL,
        AMCP_UNIVERSAL_SMALL,
        AMCP_UNIVERSAL_TABLES,
        AMCP_TUNED,
    )
}


def preset(name: str) -> Recipe:
    """A recipe by name."""
    if name in IMAGE_SET_RECIPES:
        return IMAGE_SET_RECIPES[name]()
    if name not in PRESETS:
        known = ", ".join(sorted({*PRESETS, *IMAGE_SET_RECIPES}))
        raise ValueError(f"unknown preset {name!r}; known: {known}")
    return PRESETS[name]
