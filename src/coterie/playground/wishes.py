"""What a visitor asks of the clusters: their number, a range of it, noise."""

import re
from typing import NamedTuple

MOST = 1_000
PATTERN = r"^(|[1-9][0-9]{0,3}(-[1-9][0-9]{0,3})?)$"


class Wishes(NamedTuple):
    """Bounds on the number of clusters, None where it is inferred, and whether to label noise."""

    bounds: tuple[int, int] | None = None
    noise: bool = False

    @property
    def n_clusters(self) -> int | tuple[int, int] | None:
        """As the estimators take it."""
        if self.bounds is None:
            return None
        low, high = self.bounds
        return low if low == high else (low, high)

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of an estimator, those that differ from its defaults."""
        wanted = {"n_clusters": self.n_clusters, "noise": self.noise}
        return {name: value for name, value in wanted.items() if value}


def parse_wishes(k: str, noise: bool) -> Wishes:
    """From a number "4" or a range "2-6" of clusters, "" to infer it; raises ValueError."""
    if not re.fullmatch(PATTERN, k):
        raise ValueError(f"k must be a number or a range such as 2-6, not {k!r}")
    if not k:
        return Wishes(None, noise)
    low, _, high = k.partition("-")
    bounds = int(low), int(high or low)
    if bounds[0] > bounds[1] or bounds[1] > MOST:
        raise ValueError(f"k must be a range from low to high, up to {MOST:,}, not {k!r}")
    return Wishes(bounds, noise)
