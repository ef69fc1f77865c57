import pytest
import torch
from torch import nn

from coterie.data.batch import SetBatch
from coterie.encoders.identity import Identity
from coterie.encoders.protocol import encode_sets
from coterie.inference.loop import find_clusters

IMAGES = torch.rand(2, 5, 3, 4, 4, generator=torch.Generator().manual_seed(0))
MASK = torch.tensor([[True] * 5, [True, True, True, False, False]])


class MeanColour(nn.Module):
    """Each image becomes the means of its channels."""

    width = 3

    def forward(self, items: torch.Tensor) -> torch.Tensor:
        return items.mean((2, 3))


@pytest.mark.parametrize("chunk", [None, 1, 3, 100])
def test_images_become_vectors_where_they_stood(chunk):
    labels = torch.where(MASK, 0, -1)
    encoded = encode_sets(MeanColour(), SetBatch(IMAGES, MASK, labels), chunk=chunk)
    assert encoded.points.shape == (2, 5, 3)
    torch.testing.assert_close(encoded.points[1, 2], IMAGES[1, 2].mean((1, 2)))
    assert encoded.mask is MASK
    assert encoded.labels is labels


def test_vectors_pass_the_identity_unchanged():
    points = torch.rand(2, 5, 7)
    encoded = encode_sets(Identity(7), SetBatch(points, MASK))
    assert torch.equal(encoded.points, points)


def test_the_identity_refuses_images_and_other_widths():
    for points in (IMAGES, torch.rand(2, 5, 6)):
        with pytest.raises(ValueError, match="items must be vectors of length 7"):
            encode_sets(Identity(7), SetBatch(points, MASK))


def test_an_encoder_of_another_width_than_it_says_is_refused():
    class Wrong(MeanColour):
        width = 4

    with pytest.raises(ValueError, match=r"must give \(M, C\) = \(10, 4\), got \(10, 3\)"):
        encode_sets(Wrong(), SetBatch(IMAGES, MASK))


def test_a_set_network_clusters_what_an_encoder_gives_it(small_dac):
    class Corner(nn.Module):
        width = 2

        def forward(self, items: torch.Tensor) -> torch.Tensor:
            return items[:, :2, 0, 0]

    images = SetBatch(IMAGES, MASK)
    vectors = SetBatch(IMAGES[:, :, :2, 0, 0].contiguous(), MASK)
    with torch.no_grad():
        found = find_clusters(small_dac, encode_sets(Corner(), images))
        expected = find_clusters(small_dac, vectors)
    assert len(found.commits) == len(expected.commits)
    for mine, theirs in zip(found.commits, expected.commits, strict=True):
        assert torch.equal(mine.joined, theirs.joined)
