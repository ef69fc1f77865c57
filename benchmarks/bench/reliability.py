"""Reliability of confidences: are four in five of the points at 0.8 right?"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

BINS = 15


@dataclass(frozen=True)
class Reliability:
    """Points sorted by confidence into BINS bins of equal width, (BINS,) each.

    count: the number of points; confidence and right: the sum of their confidences, and the number
    of them that are right. A bin includes its upper end (Guo et al. 2017, eq. 3).
    """

    count: NDArray[np.intp]
    confidence: NDArray[np.float64]
    right: NDArray[np.intp]

    @classmethod
    def of(cls, confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> Self:
        """The bins of some points: their confidences (n,), and whether each is right (n,)."""
        number = np.clip(np.ceil(confidence * BINS).astype(np.intp) - 1, 0, BINS - 1)
        return cls(
            np.bincount(number, minlength=BINS),
            np.bincount(number, weights=confidence, minlength=BINS).astype(np.float64),
            np.bincount(number[right], minlength=BINS),
        )

    @classmethod
    def all_of(cls, parts: Iterable[Self]) -> Self:
        """The bins of several parts together."""
        parts = list(parts)
        return cls(
            np.sum([part.count for part in parts], axis=0),
            np.sum([part.confidence for part in parts], axis=0),
            np.sum([part.right for part in parts], axis=0),
        )

    @property
    def n_points(self) -> int:
        """The number of points."""
        return int(self.count.sum())

    @property
    def mean_confidence(self) -> float:
        """The mean confidence."""
        return float(self.confidence.sum() / self.n_points)

    @property
    def share_right(self) -> float:
        """The share of points that are right."""
        return float(self.right.sum() / self.n_points)

    @property
    def calibration_error(self) -> float:
        """ECE: |share right - mean confidence| of the bins, weighted by their counts."""
        return float(np.abs(self.right - self.confidence).sum() / self.n_points)

    def to_json(self) -> dict[str, Any]:
        """All figures as JSON-compatible data, without empty bins."""
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
