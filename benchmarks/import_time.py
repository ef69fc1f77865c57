"""How long `import coterie` takes, beside `import sklearn.cluster`.

Run it with `python benchmarks/import_time.py`. Fresh interpreters, in turns; the median of each,
less that of an interpreter that imports nothing.
"""

import subprocess
import sys
import time
from statistics import median

STATEMENTS = {
    "nothing": "pass",
    "coterie": "import coterie",
    "coterie.AMCP": "import coterie; coterie.AMCP",
    "sklearn.cluster": "import sklearn.cluster",
}
ROUNDS = 7


def seconds(statement):
    """The time that a fresh interpreter takes for a statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    runs = {name: [] for name in STATEMENTS}
    for _ in range(ROUNDS):
        for name, statement in STATEMENTS.items():
            runs[name].append(seconds(statement))
    empty = median(runs.pop("nothing"))
    took = {name: median(times) - empty for name, times in runs.items()}
    for name, each in took.items():
        ratio = each / took["sklearn.cluster"]
        print(f"{name:<16} {1000 * each:7.1f} ms  {ratio:5.2f} of sklearn.cluster")
