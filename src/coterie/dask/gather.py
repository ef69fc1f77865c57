"""The first pass over a collection: a sample of its rows, drawn where they are."""

from collections.abc import Callable, Sequence
from typing import Any

import dask
from dask.delayed import Delayed

from coterie.dask.partitions import PartitionError, naming, refuse_partition
from coterie.estimators.drawing import Drawn, Located, Survey, draw, locate, merge, survey
from coterie.inference.row_hashes import Hashes

AT_ONCE = 8  # surveys that are merged at once


def gather(parts: Sequence[Delayed], like: Any, size: int, salt: int) -> Drawn:
    """Draw at most size rows of all partitions; like: an empty one.

    One pass, and a second one only where many rows may be equal.
    """
    surveys = [_checked(part, number, like, size, salt) for number, part in enumerate(parts)]

    def locate_all(hashes: Hashes) -> Sequence[Located]:
        found: Sequence[Located] = dask.compute(
            *(dask.delayed(locate)(part, hashes, salt) for part in parts)
        )
        return found

    return draw(_computed(_tree(surveys), surveys), locate_all)


@dask.delayed(pure=False)
def _checked(part: Any, number: int, like: Any, size: int, salt: int) -> Survey:
    with naming(f"partition {number}"):
        refuse_partition(part, like)
        return survey(part, size, salt)


def _tree(surveys: list[Delayed]) -> Delayed:
    together: Callable[[list[Delayed]], Delayed] = dask.delayed(merge)
    while len(surveys) > 1:
        surveys = [together(surveys[at : at + AT_ONCE]) for at in range(0, len(surveys), AT_ONCE)]
    return surveys[0]


def _computed(total: Delayed, surveys: Sequence[Delayed]) -> Survey:
    """The survey of all; where reading a partition fails, the error names the first such one."""
    try:
        return total.compute()
    except PartitionError:
        raise
    except Exception:
        for number, each in enumerate(surveys):
            with naming(f"partition {number}"):
                each.compute()
        raise
