"""The studies of AMCP: small recipes that differ in one choice, and the question each answers.

All are trained in the same way; settings that a name does not mention are those of
`study-amcp-base`.
"""

from dataclasses import dataclass, replace
from typing import Any

from bench.models import Ending
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.training.recipe import Recipe, TrainingConfig


@dataclass(frozen=True)
class Study:
    """A question, the recipes compared to answer it, and the endings to compare."""

    name: str
    question: str
    recipes: tuple[str, ...]
    endings: tuple[Ending, ...] = ("network", "consolidated")


BASE = Recipe(
    name="study-amcp-base",
    system="amcp",
    settings={
        "columns": 2,
        "k_max": 4,
        "width": 64,
        "read_width": 32,
        "references": 32,
        "encoder_blocks": 2,
        "decoder_blocks": 0,
        "encode_every": 0,
        "proposal": "anchor",
        "coupling": True,
        "questions": 8,
        "em_steps": 1,
        "e_step": "column",
    },
    prior=MixtureOfGaussians(n_max=300, k_max=4),
    training=TrainingConfig(
        steps=3000,
        sets_per_step=64,
        learning_rate=1e-3,
        warmup=200,
        capture=True,
        checkpoint_every=10_000,  # never: a study is short enough to be repeated
    ),
    trained_on="2-D mixtures of up to 4 axis-aligned Gaussians, 90 to 300 points (DAC, eq. 13)",
)


def _variant(name: str, **changes: Any) -> Recipe:
    return replace(BASE, name=f"study-amcp-{name}", settings={**BASE.settings, **changes})


RECIPES: tuple[Recipe, ...] = (
    BASE,
    *(_variant(f"t{steps}", em_steps=steps) for steps in (0, 2, 3, 4, 5)),
    _variant("regular", e_step="regular", em_steps=3),
    _variant("ot", e_step="ot", em_steps=3),
    *(_variant(f"r{references}", references=references) for references in (8, 16, 64)),
    _variant("uncoupled", coupling=False),
    _variant("seed", proposal="seed", questions=4),
    _variant(
        "reencode", proposal="seed", encode_every=1, questions=1, coupling=False, decoder_blocks=1
    ),
    replace(
        BASE,
        name="study-amcp-dac",
        system="dac",
        settings={
            "columns": 2,
            "k_max": 4,
            "width": 64,
            "slots": 32,
            "encoder_blocks": 2,
            "decoder_blocks": 2,
        },
    ),
)


def _named(*names: str) -> tuple[str, ...]:
    return tuple(f"study-amcp-{name}" for name in names)


STUDIES: tuple[Study, ...] = (
    Study("E-steps", "Which E-step mixes best?", _named("t3", "regular", "ot")),
    Study(
        "EM steps",
        "How many EM steps are enough?",
        _named("t0", "base", "t2", "t3", "t4", "t5"),
    ),
    Study("references", "How many references are enough?", _named("r8", "r16", "base", "r64")),
    Study("coupling", "Does coupling help?", _named("base", "uncoupled")),
    Study(
        "proposal", "Is a cluster better sought from an anchor or a seed?", _named("base", "seed")
    ),
    Study(
        "encoding",
        "Does it help to encode the points again for each cluster?",
        _named("seed", "reencode"),
    ),
    Study(
        "AMCP*",
        "Does it help to re-estimate earlier clusters in the light of later ones?",
        _named("base"),
        endings=("network", "star"),
    ),
    Study("curves", "Which network learns fastest?", _named("base", "seed", "reencode", "dac")),
)
