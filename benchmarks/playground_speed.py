"""How long the playground takes to answer for 1,000 points, against the network alone.

python benchmarks/playground_speed.py
"""

import time
from functools import partial

import numpy as np

import coterie
from coterie.estimators.registry import DEFAULT
from coterie.playground.methods import INITIAL
from coterie.playground.presets import draw
from coterie.playground.work import Job, do, warm_up


def milliseconds(call, repeats: int = 40) -> np.ndarray:
    """Quartiles of the time that a call takes."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - start))
    return np.quantile(taken, [0.25, 0.5, 0.75])


def main() -> None:
    """Print the times of both models."""
    warm_up()
    points = draw("mixture", n=1000, k=5).points
    for name in (INITIAL, DEFAULT):
        model, job = coterie.AMCP(name), Job(points, None, name, with_steps=True)
        fit, answer = milliseconds(partial(model.fit, points)), milliseconds(partial(do, job))
        print(name)
        print("ms, quartiles: fit {:.1f} {:.1f} {:.1f}".format(*fit))
        print("ms, quartiles: answer {:.1f} {:.1f} {:.1f}".format(*answer))
        print(f"answer / fit: {answer[1] / fit[1]:.2f}")


if __name__ == "__main__":
    main()
