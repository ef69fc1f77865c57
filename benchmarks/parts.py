"""What each part of the default is worth: validation tables answered with one part less, k unknown.

The rows are those of `table_peers.py`. The judge chooses again among some of its candidates. Where
a mixture describes a table, it answers whatever the judge would say.

    COTERIE_DATA=... python benchmarks/parts.py [--resume]
"""

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from before_after import ROWS, Given, real_tables
from bench.machine import describe_machine
from coterie import AMCP
from coterie.inference import judged
from coterie.inference.judged import NARROW
from coterie.judge.candidates import Candidate
from coterie.judge.features import Evidence, weigh
from coterie.judge.store import Judge
from coterie.judge.verdict import Choice
from coterie.metrics import ari

RESULTS = Path(__file__).parent / "results" / "parts.json"
TABLES, NETWORK = "net", "second"  # the arms of amcp-universal-tables and of amcp-universal
# The candidates that the judge may choose from.
CHOICES: dict[str, Callable[[Candidate], bool]] = {
    "judge": lambda each: True,
    "one network": lambda each: each.arm != TABLES,
    "one view": lambda each: each.view == "all",
    "networks": lambda each: each.arm in (TABLES, NETWORK),
}
# What is reported: the answer where a mixture describes the table, and where none does.
REPORTED = {
    "`AMCP()`": ("whole", "whole"),
    "without the mixture": ("judge", "judge"),
    "without the judge: the mixture, or else the network": ("whole", "network"),
    "without candidates of `amcp-universal-tables`": ("whole", "one network"),
    "without candidates from other views": ("whole", "one view"),
    "without candidates of other methods": ("whole", "networks"),
    "the candidate most like all others, not the judge's": ("whole", "consensus"),
    "`amcp-universal` alone": ("network", "network"),
    "`amcp-universal-tables` alone": ("tables", "tables"),
}


class Judged(NamedTuple):
    """What the judge was asked: C candidates, their evidence, and which one stands anyway."""

    judge: Judge
    candidates: Sequence[Candidate]
    evidence: Evidence
    stands: int | None

    def choose(self, allowed: NDArray[np.bool_]) -> int:
        """The number of the candidate that is chosen among those allowed (C,)."""
        if self.stands is not None and allowed[self.stands]:
            return self.stands
        among = np.flatnonzero(allowed)
        features, agreement, k = self.evidence
        part = Evidence(features[among], agreement[np.ix_(among, among)], k[among])
        return int(among[self.judge.scores(part).argmax()])


def answers(given: Given) -> dict[str, Any]:
    """The agreement with the labels, and k, of every way to answer one table."""
    units = StandardScaler().fit_transform(np.asarray(given.points, dtype=np.float64))
    asked: list[Judged] = []
    with listening(asked):
        whole = AMCP().fit(units)
        is_described = whole._record.outcome.described
        last = AMCP(ending="judge").fit(units) if is_described else whole
    if units.shape[1] <= NARROW:  # the judge is not asked
        own = AMCP(ending="network").fit_predict(units)
        tables = AMCP("amcp-universal-tables", ending="network").fit_predict(units)
        found = dict.fromkeys([*CHOICES, "consensus", "network"], own) | {"tables": tables}
        truth = given.labels
    else:
        (judge,) = asked
        every = judge.candidates
        found = {
            name: every[judge.choose(np.array([is_allowed(each) for each in every]))].labels
            for name, is_allowed in CHOICES.items()
        }
        found["consensus"] = every[int(judge.evidence.agreement.mean(1).argmax())].labels
        by_arm = {each.arm: each.labels for each in reversed(every)}
        found["tables"] = by_arm[TABLES]
        found["network"] = by_arm.get(NETWORK, by_arm[TABLES])  # once, if they say the same
        truth = given.labels[last._record.outcome.rows]
    scores = {name: score(truth, labels) for name, labels in found.items()}
    scores["whole"] = score(given.labels, whole.labels_)
    return {"described": is_described, "answers": scores}


def listening(asked: list[Judged]) -> AbstractContextManager[Any]:
    """Notes what the judge is asked."""
    original = judged.judge_candidates

    def listen(judge: Judge, *known: Any, chosen: int | None = None) -> Choice:
        asked.append(Judged(judge, known[2], weigh(*known), chosen))
        return original(judge, *known, chosen=chosen)

    return patch.object(judged, "judge_candidates", listen)


def score(truth: NDArray, labels: NDArray) -> dict[str, float]:
    """The agreement of labels (n,) with the truth (n,), -1 for rows without one, and k."""
    known = truth >= 0
    return {"ari": float(ari(truth[known], labels[known])), "k": len(np.unique(labels))}


def reported(tables: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The means of all variants, and how far each is behind the first, pairwise."""
    scores = {
        name: [
            row["answers"][where if row["described"] else otherwise]["ari"]
            for row in tables.values()
        ]
        for name, (where, otherwise) in REPORTED.items()
    }
    root, first = len(tables) ** 0.5, next(iter(scores.values()))
    rows = {}
    for name, own in scores.items():
        behind = [best - each for best, each in zip(first, own, strict=True)]
        rows[name] = {
            "ari": {"mean": fmean(own), "standard_error": stdev(own) / root},
            "behind": {"mean": fmean(behind), "standard_error": stdev(behind) / root},
        }
    return rows


def main() -> None:
    """Answer every table in every way; the file grows by a table at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--resume", action="store_true", help="keep the tables that are stored")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    tables: dict[str, dict[str, Any]] = {}
    if arguments.resume and RESULTS.exists():
        tables = json.loads(RESULTS.read_text())["tables"]
    for given in real_tables("validation"):
        if given.name not in tables:
            tables[given.name] = answers(given)
            print(given.name, tables[given.name], flush=True)
        if len(tables) > 1:
            kept = {
                "command": "python benchmarks/parts.py",
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": describe_machine(),
                "rows_at_most": ROWS,
                "parts": reported(tables),
                "tables": tables,
            }
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    for name, row in reported(tables).items():
        print(f"{name:58} {row['ari']['mean']:.3f}, behind by {row['behind']['mean']:.3f}")


if __name__ == "__main__":
    main()
