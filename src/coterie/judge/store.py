"""The judge, and its file: safetensors with its settings in the header."""

from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.judge.features import Evidence, feature_names
from coterie.judge.forest import Forest
from coterie.judge.relations import with_relations
from coterie.weights.format import FORMAT_VERSION, WeightsError, load_tensors, save_tensors

STORED = Path(__file__).parent / "judge.safetensors"


@dataclass(frozen=True)
class Judge:
    """A forest that predicts the agreement of a candidate with the truth, and its calibration.

    temperature: at which scores give the probability of each k; slope, offset: of the logit of the
    chosen candidate's score, the luckiest of many.
    """

    forest: Forest
    temperature: float
    slope: float
    offset: float

    def scores(self, evidence: Evidence) -> NDArray[np.float64]:
        """What to expect of each candidate: (C,)."""
        return self.forest.predict(with_relations(evidence))

    def calibrated(self, score: float) -> float:
        """The agreement with the truth to be expected of a chosen candidate with this score."""
        score = min(max(score, 1e-3), 1 - 1e-3)
        logit = self.slope * np.log(score / (1 - score)) + self.offset
        return float(1 / (1 + np.exp(-logit)))


def save_judge(path: Path, judge: Judge, provenance: dict[str, Any]) -> None:
    """Write a judge; provenance: what it was trained on, in words and numbers."""
    tensors = {
        each.name: torch.from_numpy(np.array(getattr(judge.forest, each.name)))
        for each in fields(Forest)
    }
    numbers = ("temperature", "slope", "offset")
    header = {
        "version": FORMAT_VERSION,
        "judge": {name: getattr(judge, name) for name in numbers},
        "features": list(feature_names()),
        "provenance": provenance,
    }
    save_tensors(path, tensors, header)


@lru_cache(maxsize=4)
def open_judge(path: Path = STORED) -> Judge:
    """The judge of a file."""
    tensors, header = load_tensors(path)
    if "judge" not in header:
        raise WeightsError(f"{path} holds no judge")
    if tuple(header["features"]) != feature_names():
        raise WeightsError(f"{path} was trained on other features than this version computes")
    forest = Forest(**{each.name: tensors[each.name].numpy() for each in fields(Forest)})
    return Judge(forest, **header["judge"])
