import pytest
import torch
from torch import nn

from coterie.encoders.conv import ConvEncoder


@pytest.fixture
def encoder() -> ConvEncoder:
    torch.manual_seed(0)
    encoder = ConvEncoder((1, 12, 12), (4, 8), 6)
    encoder.train()
    with torch.no_grad():
        for _ in range(20):  # statistics of some other images
            encoder(torch.rand(32, 1, 12, 12) * 0.5)
    return encoder.eval().requires_grad_(False)


IMAGES = torch.rand(40, 1, 12, 12, generator=torch.Generator().manual_seed(1))


def test_vectors_have_one_length(encoder):
    vectors = encoder(IMAGES)
    assert vectors.shape == (40, encoder.width) == (40, 6)
    assert torch.allclose(vectors.norm(dim=1), torch.full((40,), 6**0.5))


def test_each_image_is_encoded_alone(encoder):
    vectors = encoder(IMAGES)
    assert torch.allclose(encoder(IMAGES[3:5]), vectors[3:5], atol=1e-5)


def test_adapted_is_the_encoder_of_training_on_these_images(encoder):
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    adapted = encoder.adapted(IMAGES)
    encoder.train()
    expected = encoder(IMAGES)
    encoder.load_state_dict(before)
    encoder.eval()
    # Evaluation divides by the unbiased variance, which differs in the third digit.
    assert torch.allclose(adapted(IMAGES), expected, atol=2e-2)
    assert not torch.allclose(adapted(IMAGES), encoder(IMAGES), atol=2e-1)
    assert torch.allclose(adapted(IMAGES[:2]), adapted(IMAGES)[:2], atol=1e-5)  # alone, too


def test_adapting_leaves_the_encoder_as_it_was(encoder):
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    encoder.adapted(IMAGES)
    assert not any(module.training for module in encoder.modules())
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    norms = [module for module in encoder.modules() if isinstance(module, nn.BatchNorm2d)]
    assert {norm.momentum for norm in norms} == {0.1}


def test_images_of_another_shape_are_refused(encoder):
    with pytest.raises(ValueError, match=r"images must be \(1, 12, 12\), got \(3, 12, 12\)"):
        encoder(torch.rand(2, 3, 12, 12))
    with pytest.raises(ValueError, match="even side of at least 8 pixels"):
        ConvEncoder((1, 6, 6), (4, 8, 16), 6)


@pytest.mark.parametrize("n_images", [2, 3, 17, 40])
def test_repeated_images_pass_the_convolutions_once_and_count_as_often(
    encoder, n_images, monkeypatch
):
    kind = torch.randint(n_images, (400,), generator=torch.Generator().manual_seed(0))
    given, seen, forward = IMAGES[kind], [], nn.Conv2d.forward

    def counted(layer, images):
        seen.append(len(images))
        return forward(layer, images)

    monkeypatch.setattr(nn.Conv2d, "forward", counted)
    adapted = encoder.adapted(given)
    assert set(seen) == {len(kind.unique())}
    monkeypatch.setattr(
        "coterie.encoders.conv.find_repeats", lambda images: (torch.arange(len(images)),) * 2
    )
    expected = encoder.adapted(given)
    assert len(given) in seen
    for name, value in expected.state_dict().items():
        assert torch.equal(adapted.state_dict()[name], value), name
    assert not any(module._forward_hooks for module in adapted.modules())
