"""Whether confidences mean what they say: are four in five of those at 0.8 right?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

BINS = 15


@dataclass(frozen=True)
class Reliability:
    """Points sorted by confidence into BINS bins of equal width, (BINS,) each.

    count: how many there are; confidence and right: the sum of their confidences, and how many of
    them are right. A bin holds its upper end (Guo et al. 2017, eq. 3).
    """

    count: NDArray[np.intp]
    confidence: NDArray[np.float64]
    right: NDArray[np.intp]

    @classmethod
    def of(cls, confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> Self:
        """Those of some points: how sure one was of each (n,), and whether that was right (n,)."""
        number = np.clip(np.ceil(confidence * BINS).astype(np.intp) - 1, 0, BINS - 1)
        return cls(
            np.bincount(number, minlength=BINS),
            np.bincount(number, weights=confidence, minlength=BINS).astype(np.float64),
            np.bincount(number[right], minlength=BINS),
        )

    @classmethod
    def all_of(cls, parts: Iterable[Self]) -> Self:
        """Those of all points of several."""
        parts = list(parts)
        return cls(
            np.sum([part.count for part in parts], axis=0),
            np.sum([part.confidence for part in parts], axis=0),
            np.sum([part.right for part in parts], axis=0),
        )

    @property
    def n_points(self) -> int:
        """How many points there are."""
        return int(self.count.sum())

    @property
    def mean_confidence(self) -> float:
        """How sure one was, on average."""
        return float(self.confidence.sum() / self.n_points)

    @property
    def share_right(self) -> float:
        """How often that was right."""
        return float(self.right.sum() / self.n_points)

    @property
    def calibration_error(self) -> float:
        """ECE: |share right - mean confidence| of the bins, weighted by how many they hold."""
        return float(np.abs(self.right - self.confidence).sum() / self.n_points)

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON; bins without points are left out."""
        ends = np.arange(1, BINS + 1) / BINS
        bins = [
            {
                "up_to": round(float(end), 4),
                "points": int(count),
                "confidence": float(confidence / count),
                "right": float(right / count),
            }
            for end, count, confidence, right in zip(
                ends, self.count, self.confidence, self.right, strict=True
            )
            if count
        ]
        return {
            "points": self.n_points,
            "confidence": self.mean_confidence,
            "right": self.share_right,
            "ece": self.calibration_error,
            "bins": bins,
        }
