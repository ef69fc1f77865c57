from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Generator
from torch._subclasses.fake_tensor import FakeTensorMode

from coterie.data.batch import SetBatch
from coterie.data.priors import tables as module
from coterie.data.priors.real_tables import Pool
from coterie.data.priors.recovery import recovered
from coterie.data.priors.tables import Tables, chosen, concatenated, padding_last
from coterie.frames.standard import principal_axes

PRIOR = Tables(n_max=200, k_max=8, columns=6, widest=24, few_axes=0.0)


def seeded(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def drawn():
    return PRIOR.draw(60, seeded())


@pytest.fixture
def pool(monkeypatch) -> Pool:
    """One real table in the place of all: two classes far apart, in columns of large values."""
    labels = torch.arange(400) % 2
    points = torch.randn(400, 5, generator=seeded()) + 100 + 8 * labels[:, None]
    pool = Pool(points[None], labels[None], torch.tensor([5]), 2)
    monkeypatch.setattr(module, "load_pool", lambda least, device: pool)
    return pool


def test_the_generator_alone_decides():
    state = torch.random.get_rng_state()
    first, again, other = (PRIOR.sample(10, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(first.points, again.points)
    assert torch.equal(first.labels, again.labels)
    assert not torch.equal(first.points, other.points)


def test_nothing_waits_for_values_that_only_the_device_knows(pool):
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    with fake:
        assert replace(PRIOR, episodes=0.5).sample(4, seeded()).points.shape == (4, 200, 6)


def test_padding_is_zero_and_last(drawn):
    assert drawn.seen.points.shape == (60, 200, 6)
    assert drawn.tables.points.shape == (60, 200, 24)
    for batch in drawn:
        assert batch.points.isfinite().all()
        assert (batch.points[~batch.mask] == 0).all()
        assert not (batch.mask[:, 1:] & ~batch.mask[:, :-1]).any()
        assert torch.equal(batch.labels >= 0, batch.mask)


def test_the_frame_is_that_of_the_estimators(drawn):
    close = []
    for table, seen, mask in zip(
        drawn.tables.points, drawn.seen.points, drawn.seen.mask, strict=True
    ):
        table = table[mask][:, (table != 0).any(0)].numpy().astype(np.float64)
        expected = (table - table.mean(0)) @ principal_axes(table, 6)
        expected = np.pad(expected, ((0, 0), (0, 6 - expected.shape[1])))
        found = seen[mask].numpy()
        # The first axes; those with nearly the same variance may be turned, and a sign may hang
        # on round-off where an axis is symmetric.
        close.append(np.allclose(abs(found[:, :2]), abs(expected[:, :2]), atol=0.05))
        assert found.var(0) == pytest.approx(expected.var(0), abs=0.02)
    assert np.mean(close) > 0.8


def test_sets_have_few_or_many_columns(drawn):
    n_columns = (drawn.tables.points != 0).any(1).sum(1)
    assert n_columns.min() <= 3
    assert n_columns.max() >= 16


def test_candidates_that_are_lost_give_way_to_others():
    def lost(spare: float) -> float:
        batch = replace(PRIOR, spare=spare).sample(60, seeded())
        return float((recovered(batch, 8) < PRIOR.least).float().mean())

    assert lost(1.0) > 0.1
    assert lost(3.0) < 0.02


def test_some_sets_are_seen_along_few_axes():
    batch = replace(PRIOR, few_axes=1.0, widest=16, columns=10).sample(80, seeded())
    n_axes = (batch.points.abs() > 1e-4).any(1).sum(1)
    assert n_axes.max() <= 8
    assert {2, 3, 4, 6} <= set(n_axes.tolist())


def test_episodes_take_their_share_in_the_last_sets(pool):
    drawn = replace(PRIOR, episodes=0.25).draw(20, seeded())
    real = drawn.tables
    n_columns = (real.points[15:] != 0).any(1).sum(1)
    assert (n_columns <= 5).all()
    assert all(len(labels[labels >= 0].unique()) == 2 for labels in real.labels[15:])
    assert real.points[15:].abs().max() <= 10  # standardised, wherever the table lies


def test_episodes_alone(pool):
    batch = replace(PRIOR, episodes=1.0).sample(6, seeded())
    assert (recovered(batch, 8) > 0.9).all()


def test_without_data_a_prior_of_ellipsoids_can_be_drawn(monkeypatch):
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    assert PRIOR.sample(2, seeded()).points.shape == (2, 200, 6)


def test_batches_are_put_together_and_taken_apart():
    first = SetBatch(torch.zeros(2, 3, 1), torch.ones(2, 3, dtype=torch.bool), torch.zeros(2, 3))
    second = replace(first, points=torch.ones(2, 3, 1))
    both = concatenated([first, second])
    assert both.points[:, 0, 0].tolist() == [0, 0, 1, 1]
    assert chosen(both, torch.tensor([3, 0])).points[:, 0, 0].tolist() == [1, 0]


def test_padding_moves_to_the_end_and_the_order_stays():
    mask = torch.tensor([[False, True, True, False, True]])
    labels = torch.tensor([[-1, 4, 0, -1, 2]])
    batch = padding_last(SetBatch(torch.arange(5.0)[None, :, None], mask, labels))
    assert batch.points[0, :3, 0].tolist() == [1, 2, 4]
    assert batch.labels.tolist() == [[4, 0, 2, -1, -1]]
    assert batch.mask.tolist() == [[True, True, True, False, False]]
