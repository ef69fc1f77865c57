import fakes
import numpy as np
import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.inference.config import InferenceConfig
from coterie.inference.engine import cluster_points
from coterie.inference.loop import find_clusters
from coterie.inference.restarts import best_run
from coterie.systems.dac.config import DACConfig
from coterie.systems.dac.minimum_loss import DAC
from coterie.systems.protocol import claimed_labels


@pytest.fixture
def doubtful() -> SetBatch:
    return SetBatch.single(3 * torch.randn(30, 2, generator=torch.Generator().manual_seed(0)))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_single_run_is_the_loop(doubtful):
    once = best_run(fakes.PointByPoint(), doubtful, 1, generator())
    loop = find_clusters(fakes.PointByPoint(), doubtful, generator=generator())
    assert torch.equal(claimed_labels(once.commits), claimed_labels(loop.commits))


def test_the_most_probable_of_several_runs_is_kept(doubtful):
    """The runs are those of a batch of equal sets, from the same generator."""
    points = doubtful.points.expand(6, -1, -1)
    runs = find_clusters(
        fakes.PointByPoint(), SetBatch(points, doubtful.mask.expand(6, -1)), generator=generator(2)
    )
    totals = runs.log_probabilities()
    assert len(set(totals.tolist())) > 1
    best = best_run(fakes.PointByPoint(), doubtful, 6, generator(2))
    assert float(best.log_probabilities()[0]) == pytest.approx(float(totals.max()))
    expected = claimed_labels(runs.commits)[int(totals.argmax())]
    assert torch.equal(claimed_labels(best.commits)[0], expected)
    assert torch.equal(best.batch.points, doubtful.points)
    assert best.remaining.shape == doubtful.mask.shape


def test_densities_and_memories_are_of_the_run_that_is_kept():
    torch.manual_seed(0)
    config = DACConfig(width=8, heads=2, slots=2, encoder_blocks=1, filtering="anchored")
    system = DAC(config).eval().requires_grad_(False)
    batch = SetBatch.single(torch.randn(20, 2))
    state = best_run(system, batch, 4, generator())
    for commit in state.commits:
        assert commit.density.mean.shape == (1, 2)
        assert {len(part) for part in commit.memory} == {1}
        assert commit.joined.shape == (1, 20)


def test_the_engine_restarts(doubtful):
    points = doubtful.points[0].numpy()
    outcomes = [
        cluster_points(
            fakes.PointByPoint(),
            points,
            InferenceConfig(n_restarts=restarts),
            np.random.RandomState(0),
        )
        for restarts in (1, 8)
    ]
    assert all(len(outcome.clustering.labels) == 30 for outcome in outcomes)
    labels = [outcome.clustering.labels.tolist() for outcome in outcomes]
    assert labels[0] != labels[1]
