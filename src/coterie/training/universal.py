"""The recipe of the universal model."""

from coterie.data.priors.universal import Universal
from coterie.training.recipe import Recipe, TrainingConfig

SETTINGS = {
    "columns": 16,
    "width": 128,
    "frequencies": 6,
    "landmarks": 384,
    "unheard": 0.15,
    "encoder_blocks": 6,
    "encode_every": 0,
    "proposal": "anchor",
    "proposals": 24,
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
        steps=33_000,
        sets_per_step=128,
        learning_rate=1e-3,
        precision="bf16-mixed",
        compile=True,
        capture=True,
    ),
    trained_on="mixtures, sheets, shapes and regions of 1 to 32 clusters in 1 to 16 columns",
    scaling="robust",
    context_size=1_000,  # as many as it has seen at once; with 2,000 it finds too many clusters
)
