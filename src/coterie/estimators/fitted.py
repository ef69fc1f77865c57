"""What a fit leaves behind for new rows: immutable, picklable, and all that prediction needs."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coterie.frames.protocol import Frame, FramedTable
from coterie.inference.assignment import apply, apply_labels
from coterie.inference.rules.protocol import Rule
from coterie.inference.rules.shipping import placed, slimmed


@dataclass(frozen=True)
class Fitted:
    """A fitted frame and the rule of the clusters: they label any rows, chunk by chunk.

    noise: whether rows that no cluster claims are labelled -1.
    """

    frame: Frame
    rule: Rule
    noise: bool = False

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.rule.n_clusters

    def points(self, table: NDArray) -> FramedTable:
        """A table (n, d) as the network reads it."""
        return FramedTable(table, self.frame)

    def predict(self, table: NDArray) -> NDArray[np.intp]:
        """The cluster of each row of a table (n, d)."""
        return apply_labels(self.rule, self.points(table), noise=self.noise)

    def predict_proba(self, table: NDArray) -> NDArray[np.float64]:
        """The probability of each cluster for each row of a table: (n, k)."""
        return apply(self.rule, self.points(table)).probabilities

    def shipped(self, device: str = "cpu") -> "Fitted":
        """The same for prediction alone, on a device: without networks that no prediction needs."""
        rule = slimmed(self.rule, noise=self.noise)
        return replace(self, rule=placed(rule, device))
