import numpy as np
import pytest
import torch

from bench import growth
from bench.growth import (
    CENTRES,
    KINDS,
    Sample,
    Stopped,
    Task,
    draw_points,
    fitted,
    measure,
    measure_apart,
    measure_growth,
    sizes_up_to,
)

WEIGHTS = "dac-mog2d"


def sample(n_points, seconds, peak_bytes):
    return Sample(n_points, 4, seconds, 1, peak_bytes, peak_bytes / n_points / 2, None)


@pytest.fixture
def task(tmp_path):
    draw_points(2000, seed=0).tofile(tmp_path / "points")

    def of(what, n_points=1000):
        return Task(what, WEIGHTS, n_points, "cpu", str(tmp_path / "points"), 1)

    return of


def test_sizes_are_powers_of_ten():
    assert sizes_up_to(1000) == [1000]
    assert sizes_up_to(99_999) == [1000, 10_000]
    assert sizes_up_to(10_000_000)[-1] == 10_000_000


def test_points_are_of_four_clusters_and_reproducible():
    points = draw_points(500, seed=3)
    assert (points.shape, points.dtype) == ((500, 2), np.float32)
    np.testing.assert_array_equal(points, draw_points(500, seed=3))
    distance = np.linalg.norm(points[:, None] - CENTRES, axis=2)
    assert distance.min(1).max() < 2
    assert len(np.unique(distance.argmin(1))) == 4


def test_exponents_are_fitted_where_the_work_is_large():
    samples = [sample(1000, 7.0, 10**9)]
    samples += [sample(n, 1e-6 * n**0.75, 80 * n) for n in (10_000, 100_000, 1_000_000)]
    curve = fitted("fit", samples)
    assert curve.time_exponent == pytest.approx(0.75)
    assert curve.memory_exponent == pytest.approx(1.0)
    assert fitted("fit", samples[:2]).time_exponent is None


@pytest.mark.parametrize("what", KINDS)
def test_every_kind_of_work_finds_the_clusters(what, task):
    found = measure(task(what))
    assert (found.n_points, found.n_clusters) == (1000, 4)
    assert found.seconds > 0
    assert found.bytes_per_value == found.peak_bytes / 2000


def test_a_process_of_its_own_measures_the_same_thing(task):
    found = measure_apart(task("loop over all points"))
    assert (found.n_points, found.n_clusters) == (1000, 4)
    assert found.peak_bytes > 0


def test_a_process_that_fails_says_why(task):
    with pytest.raises(Stopped, match="no model 'nobody'"):
        measure_apart(task("fit")._replace(weights="nobody"))


def test_a_curve_ends_where_memory_does(monkeypatch):
    def measure_small(task):
        if task.n_points > 1000:
            raise Stopped("too little memory")
        return sample(task.n_points, 1.0, 1000)

    monkeypatch.setattr(growth, "measure_apart", measure_small)
    told = []
    found = measure_growth(
        WEIGHTS,
        device="cpu",
        max_points=10_000,
        seed=0,
        progress=lambda *news: told.append(news),
    )
    assert [curve.what for curve in found.curves] == list(KINDS)
    for curve in found.curves:
        assert [each.n_points for each in curve.samples] == [1000]
        assert curve.stopped == "10,000 points: too little memory"
        assert curve.time_exponent is None
    assert told == [(what, 1, 2) for what in KINDS]


def test_a_device_without_memory_ends_the_curve(task, monkeypatch):
    def prepare(weights, points, device):
        def call():
            if len(points) >= 1000:
                raise torch.OutOfMemoryError("no more")
            return 4

        return call

    monkeypatch.setitem(KINDS, "fit", KINDS["fit"]._replace(prepare=prepare))
    with pytest.raises(Stopped, match="memory"):
        measure(task("fit"))


def test_the_whole_set_is_not_asked_of_ten_million_points(monkeypatch):
    monkeypatch.setattr(growth, "measure_apart", lambda task: sample(task.n_points, 1.0, 1000))
    monkeypatch.setattr(growth, "draw_points", lambda n, seed: np.zeros((1, 2), np.float32))
    found = measure_growth(WEIGHTS, device="cpu", max_points=10_000_000, seed=0)
    largest = [curve.samples[-1].n_points for curve in found.curves]
    assert largest == [10_000_000, 1_000_000, 1_000_000]
