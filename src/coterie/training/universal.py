"""The recipes of the universal models, and of studies that take one thing away from them."""

from dataclasses import replace
from typing import Any

from coterie.data.priors.universal import Universal
from coterie.training.recipe import Recipe, TrainingConfig

SETTINGS = {
    "columns": 16,
    "width": 128,
    "frequencies": 6,
    "landmarks": 384,
    "leaps": True,
    "unheard": 0.15,
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
    scaling="robust",
    context_size=2_000,  # more than it has seen at once: in 1,000 thin shapes have gaps
)

# For those who wait for it on a CPU.
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


def _study(name: str, settings: dict[str, Any] | None = None, **prior: Any) -> Recipe:
    """The small model after a short training, with other settings or another prior."""
    return replace(
        AMCP_UNIVERSAL_SMALL,
        name=f"study-universal-{name}",
        settings={**AMCP_UNIVERSAL_SMALL.settings, **(settings or {})},
        prior=replace(Universal(), **prior),
        training=replace(
            AMCP_UNIVERSAL.training, steps=1_500, warmup=200, learning_rate=1e-3, seed=0
        ),
    )


def _without(family: str) -> Recipe:
    shares = tuple((name, share) for name, share in Universal().shares if name != family)
    return _study(f"no-{family}", shares=shares)


STUDIES = (
    _study("base"),
    *(_without(family) for family, _ in Universal().shares),
    _study("no-noise", noise=0.0),
    _study("no-tables", tables=0.0),
    _study("no-leaps", {"leaps": False}),
    _study("no-sines", {"frequencies": 0}),
    _study(
        "references",
        {"landmarks": 0, "leaps": False, "references": 64, "em_steps": 1, "unheard": 0.0},
    ),
    _study("large", SETTINGS),
)
