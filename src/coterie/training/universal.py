"""The recipe of the universal model."""

from coterie.data.priors.universal import Universal
from coterie.training.recipe import Recipe, TrainingConfig

SETTINGS = {
    "columns": 16,
    "width": 128,
    "frequencies": 6,
    "landmarks": 384,
    "unheard": 0.15,
    "references": 64,
    "em_steps": 1,
    "encoder_blocks": 4,
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
        steps=17_000, sets_per_step=64, learning_rate=8e-4, compile=True, capture=True
    ),
    trained_on="mixtures, sheets, shapes and regions of 1 to 32 clusters in 1 to 16 columns",
    scaling="robust",
    context_size=2_000,  # a step compares many proposals, and more points do not make it better
)
