"""How many rows are called unlike those fitted, where nothing has changed and where something has.

Run it with `python benchmarks/drift.py FOLDER`, with `real_tables.npz` and `real_tables.csv` in the
folder. Each validation table is cut in two at random: the model is fitted to one half and asked
about the other, as it is, and with one column multiplied by a hundred.
"""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np

import coterie

WEIGHTS = "amcp-universal-small"
MAX_ROWS = 4_000


def halves(rows, random):
    """Two random halves of at most MAX_ROWS rows."""
    order = random.permutation(len(rows))[:MAX_ROWS]
    return rows[order[: len(order) // 2]], rows[order[len(order) // 2 :]]


def shares(rows):
    """The shares of unlike rows in the second half: as it is, and with another unit."""
    random = np.random.default_rng(0)
    fitted, later = halves(rows, random)
    model = coterie.AMCP(WEIGHTS).fit(fitted)
    changed = later.copy()
    changed[:, random.integers(rows.shape[1])] *= 100
    return model.unlike(later).mean(), model.unlike(changed).mean()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    with (folder / "real_tables.csv").open() as file:
        names = [row["name"] for row in csv.DictReader(file) if row["split"] == "validation"]
    found = []
    with np.load(folder / "real_tables.npz") as tables:
        for name in names:
            found.append(shares(tables[f"{name}/X"].astype(np.float64)))
            print(f"{name:<32} {found[-1][0]:6.1%} {found[-1][1]:6.1%}", flush=True)
    for what, values in zip(("as it is", "a column x 100"), np.array(found).T, strict=True):
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
        print(
            f"{what}: median {middle:.1%}, 5 to 95 % of {len(values)} tables {low:.1%} to"
            f" {high:.1%}"
        )
