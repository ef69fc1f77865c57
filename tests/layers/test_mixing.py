import pytest
import torch

from coterie.functional.mixing import E_STEPS, kernel_scores, mixed_sum, mixing_weights
from coterie.layers.mixing import IntraCM


@pytest.fixture(params=E_STEPS)
def block(request):
    torch.manual_seed(0)
    return IntraCM(width=16, heads=2, references=4, em_steps=2, e_step=request.param).double()


@pytest.fixture
def points():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, 12, 16, generator=generator, dtype=torch.float64)


def all_of(points):
    return torch.ones(points.shape[:2], dtype=torch.bool)


def test_permuting_the_points_permutes_the_output(block, points):
    order = torch.randperm(12, generator=torch.Generator().manual_seed(2))
    mixed = block(points, all_of(points))
    torch.testing.assert_close(block(points[:, order], all_of(points)), mixed[:, order])


def test_masked_points_have_no_influence(block, points):
    mask = all_of(points)
    mask[:, 9:] = False
    among = block(points, mask)[:, :9]
    torch.testing.assert_close(among, block(points[:, :9], all_of(points[:, :9])))


def test_gather_and_read_make_the_block(block, points):
    slots = block.gather(points, all_of(points))
    assert slots.shape == (2, 4, 16)
    torch.testing.assert_close(block.read(points, slots), block(points, all_of(points)))


def test_reading_is_pointwise(block, points):
    slots = block.gather(points, all_of(points))
    whole = block.read(points, slots)
    torch.testing.assert_close(block.read(points[:, 3:4], slots), whole[:, 3:4])


def test_more_em_steps_change_the_slots(block, points):
    before = block.gather(points, all_of(points))
    block.em_steps = 3
    assert not torch.allclose(before, block.gather(points, all_of(points)))


def test_an_empty_set_gives_finite_slots(block, points):
    assert block.gather(points, ~all_of(points)).isfinite().all()


def test_columns_are_mixed_as_by_weights_written_out(points):
    torch.manual_seed(0)
    block = IntraCM(width=16, heads=2, references=4, em_steps=2, e_step="column").double()
    mask = all_of(points)
    mask[1, 7:] = False
    keys, values = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in (points, points.cos()))
    n_points = mask.sum(1).double()[:, None, None, None]
    references = block.references.expand(2, -1, -1, -1)
    seen, share = block._mix_columns(references, keys, values, mask, n_points)

    def weigh(references):
        scores = kernel_scores(keys, references, block.log_temperature.exp())
        return mixing_weights(scores, mask[:, None].expand(-1, 2, -1), "column")

    for _ in range(2):
        references = mixed_sum(weigh(references), keys)
    torch.testing.assert_close(seen, mixed_sum(weigh(references), values))
    torch.testing.assert_close(share, weigh(references).sum(2) / n_points[..., 0])
