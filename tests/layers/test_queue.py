import pytest
import torch

from coterie.layers.queue import Queue


def keys(number: int, first: int = 0) -> torch.Tensor:
    """(number, 2, 1): the numbers from first, and the same negated."""
    values = torch.arange(first, first + number, dtype=torch.float32)
    return torch.stack([values, -values], 1)[..., None]


def test_the_oldest_keys_are_replaced_first():
    queue = Queue(2, 5, 1)
    for first in (0, 3, 6):
        queue.enqueue(keys(3, first))
    assert queue.keys[0, :, 0].tolist() == [5, 6, 7, 8, 4]
    assert queue.keys[1, :, 0].tolist() == [-5, -6, -7, -8, -4]
    assert int(queue.place) == 4


def test_a_new_queue_holds_unit_vectors():
    queue = Queue(3, 7, 4)
    torch.testing.assert_close(queue.keys.norm(dim=-1), torch.ones(3, 7))


def test_keys_and_place_are_saved():
    first, second = Queue(1, 5, 2), Queue(1, 5, 2)
    first.enqueue(torch.ones(3, 1, 2))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.keys, second.keys)
    assert int(second.place) == 3


def test_more_keys_than_the_queue_holds_are_refused():
    with pytest.raises(ValueError, match="6 keys at once do not fit a queue of 5"):
        Queue(2, 5, 1).enqueue(keys(6))
