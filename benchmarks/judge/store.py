"""The judge, and its file: safetensors with its settings in the header."""

from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.weights.format import FORMAT_VERSION, WeightsError, load_tensors, save_tensors
from judge.features import Evidence, feature_names
from judge.forest import Forest
from judge.relations import Table, with_relations

STORED = Path(__file__).parent / "judge.safetensors"
NARROW = 3  # columns: the network was trained to see what so few show, and most views are one


@dataclass(frozen=True)
class Judge:
    """Two forests that predict agreement with the truth, and what makes them mean what they say.

    narrow, wide: for sets of up to NARROW columns and of more; favour: what is added to the score
    of the network's own answer in narrow sets; temperature: at which scores give the probability of
    each k; slope, offset: of the logit of the chosen candidate's score, the luckiest of many.
    """

    narrow: Forest
    wide: Forest
    favour: float
    temperature: float
    slope: float
    offset: float

    def scores(self, evidence: Evidence, n_columns: int) -> NDArray[np.float64]:
        """What to expect of each candidate; the first one is the network's own answer: (C,)."""
        return self.scores_of_inputs(with_relations(evidence), n_columns)

    def scores_of_inputs(self, inputs: Table, n_columns: int) -> NDArray[np.float64]:
        """The same from features with relations (C, F')."""
        if n_columns > NARROW:
            return self.wide.predict(inputs)
        scores = self.narrow.predict(inputs)
        scores[0] += self.favour
        return scores

    def calibrated(self, score: float) -> float:
        """The agreement with the truth to be expected of a chosen candidate with this score."""
        score = min(max(score, 1e-3), 1 - 1e-3)
        logit = self.slope * np.log(score / (1 - score)) + self.offset
        return float(1 / (1 + np.exp(-logit)))


def save_judge(path: Path, judge: Judge, provenance: dict[str, Any]) -> None:
    """Write a judge; provenance: what it was trained on, in words and numbers."""
    tensors = {
        f"{name}.{each.name}": torch.from_numpy(np.array(getattr(forest, each.name)))
        for name, forest in (("narrow", judge.narrow), ("wide", judge.wide))
        for each in fields(Forest)
    }
    numbers = ("favour", "temperature", "slope", "offset")
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
    narrow, wide = (
        Forest(**{each.name: tensors[f"{name}.{each.name}"].numpy() for each in fields(Forest)})
        for name in ("narrow", "wide")
    )
    return Judge(narrow, wide, **header["judge"])
