"""Which networks read a table for the judge, and when the judge is asked without being named."""

from pathlib import Path
from typing import cast

from coterie.inference.endings import EndingName
from coterie.inference.judged import NARROW, JudgedEnding
from coterie.judge.store import open_judge
from coterie.systems.protocol import Sequential
from coterie.systems.traits import Traits
from coterie.weights.catalogue import open_model

# The readers of each of the weights that the judge was trained with, in its order.
PANELS = {
    "amcp-universal": ("amcp-universal-tables", "amcp-universal"),
    "amcp-universal-tables": ("amcp-universal-tables", "amcp-universal"),
    "amcp-universal-small": ("amcp-universal-small",),
}


def judged_ending(
    weights: str | Path,
    ending: EndingName,
    traits: Traits,
    n_columns: int,
    device: str,
    *,
    second_look: bool,
) -> JudgedEnding | None:
    """The judge of a table of so many columns: where it is asked for, or where "auto" means it.

    It does not choose where there are few columns, which the networks read better than any other
    method, nor of itself for weights it has not seen in training.
    """
    if ending == "auto":
        asked = str(weights) in PANELS and n_columns > NARROW
    else:
        asked = ending == "judge" and traits.frame == "standard"
    if not asked:
        return None
    readers: tuple[Sequential | None, ...] = tuple(
        None if name == str(weights) else cast(Sequential, open_model(name, device)[0])
        for name in PANELS.get(str(weights), (str(weights),))
    )
    return JudgedEnding(open_judge(), readers, second_look)
