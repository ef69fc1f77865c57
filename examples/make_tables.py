"""Synthetic labelled tables for training: two to four elongated groups, columns in three units.

Run it with `python examples/make_tables.py`; it writes 40 tables to `train` and 8 to `test`.
"""

from pathlib import Path

import numpy as np

UNITS = np.array([100, 1.3, 6.5])  # of speed, load and heat


def table(random):
    """The lines of a CSV file of 80 to 360 rows."""
    slant, rows = random.normal(size=3), []
    for group in range(random.integers(2, 5)):
        size = random.integers(40, 90)
        along, across = random.normal(size=(size, 1)), random.normal(size=(size, 3))
        middle = 3 * random.normal(size=3)
        values = UNITS * (middle + 0.6 * along * slant + 0.2 * across)
        rows += [f"{x:.3f},{y:.3f},{z:.3f},state {group}" for x, y, z in values]
    return ["speed,load,heat,state", *random.permutation(rows)]


if __name__ == "__main__":
    random = np.random.default_rng(0)
    for folder, number in (("train", 40), ("test", 8)):
        Path(folder).mkdir()
        for index in range(number):
            Path(folder, f"{index:02}.csv").write_text("\n".join(table(random)) + "\n")
