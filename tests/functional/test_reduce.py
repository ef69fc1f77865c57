import pytest
import torch

from coterie.functional.reduce import is_sharded, masked_mean, masked_sum, sharded

MASK = torch.tensor(
    [[True, True, True, True], [True, False, True, False], [False, False, False, True]]
)
EMPTY = torch.zeros(1, 4, dtype=torch.bool)
TRAILING = pytest.mark.parametrize("trailing", [(), (2,), (2, 3)])


def values(trailing: tuple[int, ...]) -> torch.Tensor:
    """Random values with NaN at the masked points, which nobody may read."""
    drawn = torch.randn(3, 4, *trailing, generator=torch.Generator().manual_seed(0)).double()
    drawn[~MASK] = torch.nan
    return drawn


@TRAILING
def test_sum_takes_the_valid_points(trailing):
    x = values(trailing)
    expected = torch.stack([x[b, MASK[b]].sum(0) for b in range(3)])
    torch.testing.assert_close(masked_sum(x, MASK), expected)


@TRAILING
def test_mean_divides_by_the_number_of_valid_points(trailing):
    x = values(trailing)
    expected = torch.stack([x[b, MASK[b]].mean(0) for b in range(3)])
    torch.testing.assert_close(masked_mean(x, MASK), expected)


def test_empty_sets_have_neutral_results():
    x = torch.full((1, 4), 3.0)
    assert masked_sum(x, EMPTY).item() == 0.0
    assert masked_mean(x, EMPTY).item() == 0.0


@pytest.mark.parametrize("reduce", [masked_sum, masked_mean])
def test_gradients_are_exact_and_stop_at_masked_points(reduce):
    x = values((2,)).nan_to_num(5.0).requires_grad_()
    assert torch.autograd.gradcheck(reduce, (x, MASK))
    reduce(x, MASK).sum().backward()
    assert (x.grad[~MASK] == 0).all()
    assert (x.grad[MASK] != 0).all()


def test_points_are_elsewhere_only_inside_sharded():
    group = object()  # nothing is reduced here, so nobody looks at it
    assert not is_sharded()
    with sharded(group):
        assert is_sharded()
        with sharded(group):
            assert is_sharded()
        assert is_sharded()
    assert not is_sharded()


def test_an_error_inside_sharded_brings_the_points_home():
    with pytest.raises(KeyError), sharded(object()):
        raise KeyError
    assert not is_sharded()
