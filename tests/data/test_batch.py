import dataclasses

import pytest
import torch

from coterie.data.batch import SetBatch, compact

MASK = torch.tensor([[True, False, True, False, True], [False, True, False, False, True]])
POINTS = torch.arange(20.0).view(2, 5, 2)


def test_single_is_one_set_of_valid_points():
    batch = SetBatch.single(POINTS[0])
    assert batch.points.shape == (1, 5, 2)
    assert batch.mask.shape == (1, 5)
    assert batch.mask.all()
    assert batch.labels is None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"points": POINTS[0]}, r"points must be \(B, N, D\), or .* got shape \(5, 2\)"),
        ({"mask": MASK[:, :4]}, r"mask must be \(B, N\) = \(2, 5\), got \(2, 4\)"),
        ({"mask": MASK.float()}, r"mask must be boolean, got torch.float32"),
        ({"labels": torch.zeros(2, 4, dtype=torch.int64)}, r"labels must be \(B, N\)"),
    ],
)
def test_wrong_shapes_are_refused(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        SetBatch(**({"points": POINTS, "mask": MASK} | change))


def test_batches_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SetBatch(POINTS, MASK).mask = MASK


def test_keep_only_ever_narrows():
    labels = torch.zeros(2, 5, dtype=torch.int64)
    batch = SetBatch(POINTS, MASK, labels)
    wish = torch.tensor([[True, True, False, False, True], [True] * 5])
    kept = batch.keep(wish)
    assert torch.equal(kept.mask, MASK & wish)
    assert kept.points is POINTS
    assert kept.labels is labels
    assert torch.equal(batch.mask, MASK)


def test_compact_keeps_the_points_in_their_order():
    left = compact(MASK)
    taken = left.take(POINTS)
    assert taken.shape == (2, 3, 2)
    assert left.mask.tolist() == [[True, True, True], [True, True, False]]
    for b in range(2):
        assert torch.equal(taken[b, left.mask[b]], POINTS[b, MASK[b]])


def test_scatter_brings_values_home():
    values = torch.arange(10.0).view(2, 5)
    left = compact(MASK)
    home = left.scatter(left.take(values[..., None])[..., 0])
    assert torch.equal(home, torch.where(MASK, values, -torch.inf))


def test_scatter_has_a_gradient_at_valid_points_alone():
    left = compact(MASK)
    values = torch.zeros(2, 3, requires_grad=True)
    torch.where(MASK, left.scatter(values), 0.0).sum().backward()
    assert torch.equal(values.grad, left.mask.float())


def test_sets_without_points_become_one_masked_point():
    left = compact(torch.zeros_like(MASK))
    assert left.take(POINTS).shape == (2, 1, 2)
    assert not left.mask.any()
    assert (left.scatter(torch.zeros(2, 1)) == -torch.inf).all()


def test_points_stay_where_they_are_when_some_set_is_full():
    mask = torch.tensor([[True] * 5, [False, True, False, True, True]])
    left = compact(mask)
    assert left.take(POINTS) is POINTS
    assert torch.equal(left.mask, mask)
    values = torch.arange(10.0).view(2, 5)
    assert torch.equal(left.scatter(values), torch.where(mask, values, -torch.inf))


@pytest.mark.parametrize("mask", [MASK, torch.ones_like(MASK)], ids=["some", "all"])
def test_flags_and_columns_go_the_same_way(mask):
    left = compact(mask)
    flags = torch.tensor([[True, False, True, True, False], [False, True, True, False, True]])
    assert torch.equal(left.take(flags), left.take(flags[..., None])[..., 0])
    assert torch.equal(left.scatter(left.take(flags), False), flags & mask)


@pytest.mark.parametrize("first", [MASK, torch.ones_like(MASK)], ids=["some", "all"])
@pytest.mark.parametrize("fewer", [True, False], ids=["fewer", "as many"])
def test_one_compaction_after_another_is_that_of_both(first, fewer):
    gone = torch.tensor([[True, False, False, False, False], [False, True, False, False, True]])
    mask = first & ~gone if fewer else first
    left = compact(first)
    twice, once = left.then(compact(left.mask & left.take(mask))), compact(mask)
    assert torch.equal(twice.mask.sum(1), once.mask.sum(1))
    values = torch.arange(10.0).view(2, 5)
    assert torch.equal(twice.scatter(twice.take(values)), once.scatter(once.take(values)))
    assert torch.equal(twice.scatter(twice.take(values)), torch.where(mask, values, -torch.inf))


def test_sets_hold_items_of_any_shape():
    images = torch.arange(2 * 5 * 3 * 4 * 4, dtype=torch.uint8).view(2, 5, 3, 4, 4)
    batch = SetBatch(images, MASK, torch.zeros(2, 5, dtype=torch.int64))
    assert SetBatch.single(images[0]).points.shape == (1, 5, 3, 4, 4)
    assert batch.to("cpu").points.shape == images.shape
    assert batch.keep(MASK).points is images
    left = compact(MASK)
    taken = left.take(images)
    assert taken.shape == (2, 3, 3, 4, 4)
    assert taken.dtype == torch.uint8
    for b in range(2):
        assert torch.equal(taken[b, left.mask[b]], images[b, MASK[b]])


def test_numbers_and_vectors_are_taken_as_items_of_no_and_one_axis():
    left = compact(MASK)
    flat = POINTS.flatten(2)[..., 0]
    assert torch.equal(left.take(flat), left.take(POINTS)[..., 0])
