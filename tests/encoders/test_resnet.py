import pytest
import torch
from torch import nn

from coterie.data.batch import SetBatch
from coterie.encoders.protocol import encode_sets
from coterie.encoders.resnet import STAGES, ResNet


@pytest.mark.parametrize(
    ("backbone", "channels", "width", "n_weights"),
    [
        ("resnet18", 3, 512, 11_168_832),
        ("resnet34", 3, 512, 21_276_992),
        ("small", 1, 128, 306_784),
    ],
)
def test_backbones_have_the_shape_of_their_papers(backbone, channels, width, n_weights):
    """ResNets 18 and 34 without their last layer, with 1,728 weights in the stem for 9,408."""
    network = ResNet(backbone, channels)
    assert network.width == width
    assert sum(weight.numel() for weight in network.parameters()) == n_weights
    convolutions = [m for m in network.modules() if isinstance(m, nn.Conv2d)]
    assert network.stem.stride == (1, 1)
    assert sum(m.kernel_size == (3, 3) for m in convolutions) == 1 + 2 * sum(STAGES[backbone][0])


def test_images_become_vectors_of_sets():
    images = torch.rand(2, 3, 1, 12, 12)
    encoder = ResNet("small", channels=1).eval()
    with torch.no_grad():
        encoded = encode_sets(encoder, SetBatch(images, torch.ones(2, 3, dtype=torch.bool)))
        chunked = encode_sets(
            encoder, SetBatch(images, torch.ones(2, 3, dtype=torch.bool)), chunk=1
        )
    assert encoded.points.shape == (2, 3, 128)
    torch.testing.assert_close(encoded.points, chunked.points, rtol=1e-4, atol=1e-5)


def test_weights_are_channels_last():
    network = ResNet("small", channels=1)
    assert network.blocks[1].second.weight.is_contiguous(memory_format=torch.channels_last)


def test_an_unknown_backbone_is_refused():
    with pytest.raises(ValueError, match=r"unknown backbone 'vgg'; known: .*resnet18"):
        ResNet("vgg")
