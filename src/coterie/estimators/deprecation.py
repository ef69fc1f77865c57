"""Keywords of earlier releases, which work for one more with a FutureWarning."""

import warnings
from typing import Any

from coterie.inference.endings import EndingName
from coterie.systems.traits import Traits

DEPRECATED = "deprecated"  # the default of such a keyword, as in scikit-learn


def ending_of(estimator: Any, traits: Traits) -> EndingName:
    """The ending that an estimator asks for, by `ending` or by the keywords that it replaces."""
    consolidate = getattr(estimator, "consolidate", DEPRECATED)
    update_previous = getattr(estimator, "update_previous", DEPRECATED)
    if consolidate == DEPRECATED and update_previous == DEPRECATED:
        ending: EndingName = estimator.ending
        return ending
    if estimator.ending != "auto":
        raise ValueError(
            f"ending={estimator.ending!r} together with consolidate or update_previous, which it"
            " replaces: leave those out"
        )
    # Without a density the keywords had no effect.
    replaced: EndingName = "auto"
    if traits.density is not None and not consolidate:  # not by identity: NumPy has its own False
        replaced = "em" if update_previous not in (False, DEPRECATED) else "network"
    warnings.warn(
        f'consolidate and update_previous are deprecated: use ending="{replaced}"',
        FutureWarning,
        stacklevel=5,  # above _ending, fit and scikit-learn's wrapper of it
    )
    return replaced
