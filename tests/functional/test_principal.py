import pytest
import torch
from torch.nn.functional import normalize

from coterie.functional.principal import LENGTH, iterated_axes, on_axes, principal_axes


@pytest.fixture
def sets():
    """Two sets of 200 vectors near some directions, the last 20 of the second not valid."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(2, 4, 12, generator=generator)
    chances = torch.tensor([0.6, 0.25, 0.1, 0.05])
    labels = torch.multinomial(chances, 400, replacement=True, generator=generator).view(2, 200)
    points = centres.gather(1, labels[..., None].expand(-1, -1, 12))
    points = points + 0.1 * torch.randn(2, 200, 12, generator=generator)
    mask = torch.ones(2, 200, dtype=torch.bool)
    mask[1, 180:] = False
    return points.double(), mask


def test_axes_are_the_right_singular_vectors_of_the_unit_vectors(sets):
    points, mask = sets
    axes = principal_axes(points, mask, 3)
    for own, valid, found in zip(points, mask, axes, strict=True):
        _, _, right = torch.linalg.svd(normalize(own[valid], dim=-1), full_matrices=False)
        assert torch.allclose((right[:3] @ found).abs(), torch.eye(3).double(), atol=1e-8)
    assert (axes.gather(1, axes.abs().argmax(1, keepdim=True)) > 0).all()


def test_points_that_are_not_there_do_not_matter(sets):
    points, mask = sets
    moved = torch.where(mask[..., None], points, 100.0)
    assert torch.equal(principal_axes(moved, mask, 3), principal_axes(points, mask, 3))


def test_all_axes_keep_the_angles(sets):
    points, mask = sets
    seen = on_axes(points, principal_axes(points, mask, 12))
    unit = normalize(points, dim=-1)
    expected = LENGTH**2 * unit @ unit.transpose(1, 2)
    assert torch.allclose(seen @ seen.transpose(1, 2), expected)


def test_on_few_axes_vectors_may_keep_one_length(sets):
    points, mask = sets
    axes = principal_axes(points, mask, 3)
    plain, seen = on_axes(points, axes), on_axes(points, axes, spherical=True)
    assert torch.allclose(seen.norm(dim=-1), torch.full_like(seen[..., 0], LENGTH))
    assert torch.allclose(normalize(plain, dim=-1), normalize(seen, dim=-1))


def test_iterations_find_the_same_axes(sets):
    points, mask = sets
    exact, found = (how(points, mask, 4) for how in (principal_axes, iterated_axes))
    assert torch.allclose(
        found.transpose(1, 2) @ found, torch.eye(4).double().expand(2, 4, 4), atol=1e-8
    )
    # The same space, and nearly the same axes in it.
    assert torch.allclose(found @ found.transpose(1, 2), exact @ exact.transpose(1, 2), atol=1e-3)
    cosines = (exact * found).sum(1).abs()
    assert (cosines > 0.95).all()
