"""The sets that `generate.py` has weighed, and which of them are for what."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.judge.features import Evidence
from coterie.judge.relations import with_relations
from judge.episodes import listed


@dataclass(frozen=True)
class Weighed:
    """One set: source, name, seed, shape and k (meta), inputs (C, F'), k and true ari (C,)."""

    meta: dict
    inputs: NDArray[np.float32]
    k: NDArray[np.intp]
    ari: NDArray[np.float64]

    @property
    def part(self) -> str:
        """ "train", "validation" or "suite"."""
        if self.meta["source"] == "suite":
            return "suite"
        row = listed(os.environ["COTERIE_DATA"]).get(self.meta["name"])
        return "train" if row is None else row["split"]

    @property
    def whole(self) -> bool:
        return self.meta["source"] in ("whole", "suite")


def load(folders: list[str], leave_out: tuple[str, ...] = ()) -> list[Weighed]:
    """The sets of all files in some folders, without the candidates of the arms left out."""
    sets = []
    for path in sorted(path for folder in folders for path in Path(folder).glob("weighed*.npz")):
        with np.load(path) as file:
            arrays = {key: file[key] for key in file.files}
        at = place = 0
        for meta, n in zip(json.loads(arrays["meta"].tobytes()), arrays["count"], strict=True):
            kept = [i for i in range(n) if meta["names"][i].split("/")[0] not in leave_out]
            square = (
                arrays["agreement"][place : place + n * n].reshape(n, n).astype(np.float32) / 100
            )
            features = arrays["features"][at : at + n].astype(np.float32)
            k = arrays["k"][at : at + n].astype(np.intp)
            evidence = Evidence(features[kept], square[np.ix_(kept, kept)], k[kept])
            names = [meta["names"][i] for i in kept]
            ari = arrays["ari"][at : at + n].astype(np.float64)[kept]
            sets.append(Weighed({**meta, "names": names}, with_relations(evidence), k[kept], ari))
            at += n
            place += n * n
    return sets


def folds(sets: list[Weighed], n_folds: int) -> NDArray[np.intp]:
    """The fold of each set: by the origin of a table, at random for others."""
    origin = {name: row["origin"] for name, row in listed(os.environ["COTERIE_DATA"]).items()}
    known = np.random.default_rng(1).permutation(sorted(set(origin.values())))
    number = {each: place for place, each in enumerate(known)}
    return np.array(
        [
            (number[origin[each.meta["name"]]] if each.meta["name"] in origin else place) % n_folds
            for place, each in enumerate(sets)
        ]
    )
