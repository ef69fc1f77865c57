"""The recipes of the universal models."""

from dataclasses import replace

from coterie.data.priors.blend import Blend
from coterie.data.priors.tables import Tables
from coterie.data.priors.universal import Universal
from coterie.training.recipe import Recipe, TrainingConfig

SETTINGS = {
    "columns": 16,
    "width": 128,
    "frequencies": 6,
    "landmarks": 384,
    "leaps": True,
    "walk_dropout": 0.15,
    "encoder_blocks": 8,
    "encode_every": 0,
    "proposal": "anchor",
    "proposals": 12,
    "coupling": True,
    "questions": 8,
    "overlap_weight": 0.5,
    "decoder_blocks": 0,
    "read_width": 64,
    "density": "none",
    "k_max": 32,
}

AMCP_UNIVERSAL = Recipe(
    name="amcp-universal",
    system="amcp",
    settings=SETTINGS,
    prior=Universal(),
    training=TrainingConfig(
        steps=20_000,
        sets_per_step=128,
        learning_rate=6e-4,
        seed=15,
        precision="bf16-mixed",
        compile=True,
        capture=True,
    ),
    trained_on="mixtures, sheets, shapes, regions and ribbons of 1 to 32 clusters in 1 to 16"
    " columns",
    frame="standard",
    context_size=2_000,  # more than in training: with 1,000 points thin shapes have gaps
)

# For interactive use on a CPU.
AMCP_UNIVERSAL_SMALL = replace(
    AMCP_UNIVERSAL,
    name="amcp-universal-small",
    settings={
        **SETTINGS,
        "width": 64,
        "landmarks": 256,
        "encoder_blocks": 4,
        "read_width": 32,
    },
    training=replace(AMCP_UNIVERSAL.training, steps=6_000, seed=16),
)


# Both models, trained further on a blend with realistic tables. Half of each batch still comes from
# the original prior, because the network forgets what it no longer sees.
LIKE_TABLES = Blend(tables=Tables(episodes=0.3), tables_share=0.5)
ON_TABLES = "the sets of amcp-universal, overlapping ellipsoids in 2 to 100 columns, 53 real tables"


def on_tables(recipe: Recipe, seed: int, prior: Blend = LIKE_TABLES) -> Recipe:
    """The recipe that continues from a model's shipped weights, at half the learning rate."""
    training = replace(recipe.training, learning_rate=3e-4, warmup=300, seed=seed)
    return replace(
        recipe,
        name=f"{recipe.name}-tables",
        prior=prior,
        training=training,
        trained_on=ON_TABLES,
        start_from=recipe.name,
    )


_TAUGHT = on_tables(AMCP_UNIVERSAL, seed=17)
# It was trained for a fixed time (`benchmarks/teach_tables.py`); these are the steps that it took.
AMCP_UNIVERSAL_TABLES = replace(
    _TAUGHT, training=replace(_TAUGHT.training, steps=12_769), kept=0.25
)
AMCP_UNIVERSAL_SMALL_TABLES = on_tables(AMCP_UNIVERSAL_SMALL, seed=18)
