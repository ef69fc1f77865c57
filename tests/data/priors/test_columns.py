from dataclasses import dataclass

import pytest
import torch
from scipy import stats
from torch import Generator
from torch._subclasses.fake_tensor import FakeTensorMode

from coterie.data.priors.columns import (
    KINDS,
    as_real_columns,
    binary,
    bounded,
    counts,
    floored,
    graded,
    heavy,
    rounded,
    skewed,
)
from coterie.data.priors.draws import Draws


def seeded(seed: int = 0) -> Draws:
    return Draws(Generator().manual_seed(seed))


@dataclass
class Column:
    """A standard normal column of many rows, and amounts from none to all."""

    x: torch.Tensor
    amount: torch.Tensor


@pytest.fixture(scope="module")
def normal() -> Column:
    amount = torch.linspace(0, 1, 21)[None, None]
    return Column(seeded().normal(1, 4000, 1).expand(-1, -1, 21), amount)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.values.__name__)
def test_the_order_of_values_stays(kind, normal):
    values = kind.values(normal.x, normal.amount)
    assert values.isfinite().all()
    ordered = values.gather(1, normal.x.argsort(1))
    assert (ordered.diff(dim=1) >= 0).all()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.values.__name__)
def test_something_varies_whatever_the_amount(kind, normal):
    assert (kind.values(normal.x, normal.amount).std(1) > 0.1).all()


def moments(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    columns = values[0].double().numpy()
    return torch.tensor(stats.skew(columns)), torch.tensor(stats.kurtosis(columns))


def test_skewed_columns_have_a_long_tail_to_the_right(normal):
    skew, _ = moments(skewed(normal.x, normal.amount))
    assert (skew > 0.4).all()
    assert skew[-1] > 3


def test_heavy_columns_have_two_long_tails(normal):
    _, kurtosis = moments(heavy(normal.x, normal.amount))
    assert (kurtosis > 0.5).all()
    assert kurtosis[-1] > 10


def test_bounded_columns_stay_within_their_bounds(normal):
    values = bounded(normal.x, normal.amount)
    assert values.abs().max() <= 1
    _, kurtosis = moments(values)
    assert (kurtosis < 0.1).all()


def test_many_rows_of_a_floored_column_share_the_floor(normal):
    values = floored(normal.x, normal.amount)
    at_floor = (values == values.amin(1, keepdim=True)).float().mean(1)[0]
    assert at_floor[0] == pytest.approx(stats.norm.cdf(-1.5), abs=0.02)
    assert at_floor[-1] == pytest.approx(0.5, abs=0.02)


def test_counts_are_whole_numbers_and_often_zero(normal):
    values = counts(normal.x, normal.amount)
    assert torch.equal(values, values.round())
    assert values.min() == 0
    assert (values[0, :, 0] == 0).float().mean() > 0.4


def test_few_values_are_few(normal):
    assert all(len(column.unique()) <= 5 for column in graded(normal.x, normal.amount)[0].T)
    assert all(len(column.unique()) == 2 for column in binary(normal.x, normal.amount)[0].T)


def test_steps_are_fine_or_coarse(normal):
    distinct = [len(column.unique()) for column in rounded(normal.x, normal.amount)[0].T]
    assert distinct[0] > 100
    assert distinct[-1] < 20


def test_every_kind_comes_in_its_share():
    points = seeded().normal(1500, 60, 1)
    found = as_real_columns(points, seeded(1))
    two = torch.tensor([len(one.unique()) == 2 for one in found])
    whole = ((found == found.round()).all(1)[:, 0]) & ~two
    shares = {kind.values.__name__: kind.share for kind in KINDS}
    assert two.float().mean() == pytest.approx(shares["binary"], abs=0.015)
    assert whole.float().mean() == pytest.approx(shares["counts"] + shares["graded"], abs=0.03)
    assert sum(shares.values()) == pytest.approx(1)


def test_columns_of_a_table_are_mostly_of_one_kind():
    points = seeded().normal(400, 200, 8)
    found = as_real_columns(points, seeded(1))
    untouched = (found.abs() == points.abs()).all(1)  # (B, D)
    all_or_none = untouched.all(1) | ~untouched.any(1)
    assert 0.5 < all_or_none.float().mean() < 0.95


def test_nothing_waits_for_values_that_only_the_device_knows():
    with FakeTensorMode():
        draws = seeded()
        assert as_real_columns(draws.normal(3, 20, 5), draws).shape == (3, 20, 5)
