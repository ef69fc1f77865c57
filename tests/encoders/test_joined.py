import pytest
import torch

from coterie.encoders.images import JoinedEncoder, make_encoder
from coterie.systems.registry import build

TOWERS = ((4, 8, 16), (4, 6, 12))


def images(n=5):
    return torch.rand(n, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def test_the_vectors_of_the_towers_stand_side_by_side_and_count_alike():
    encoder = make_encoder("conv", (1, 8, 8), (), 28, TOWERS).eval()
    assert isinstance(encoder, JoinedEncoder)
    vectors = encoder(images())
    assert vectors.shape == (5, 28)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.full((5,), 28**0.5))
    parts = vectors.split([16, 12], dim=-1)
    for tower, part in zip(encoder.towers, parts, strict=True):
        torch.testing.assert_close(part.norm(dim=-1), torch.full((5,), 14**0.5))
        own = tower(images())
        torch.testing.assert_close(part / part.norm(dim=-1, keepdim=True), own / tower.width**0.5)


def test_the_copy_for_other_images_has_their_statistics():
    encoder = make_encoder("conv", (1, 8, 8), (), 28, TOWERS).eval()
    other = encoder.adapted(3 * images(64))
    norms = [each for each in other.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    before = [each for each in encoder.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    assert all(
        not torch.equal(new.running_mean, old.running_mean)
        for new, old in zip(norms, before, strict=True)
    )
    assert torch.equal(other.towers[0].out.weight, encoder.towers[0].out.weight)


def test_an_embedding_of_another_length_is_refused():
    settings = {"image": (1, 8, 8), "towers": TOWERS, "columns": 4, "width": 8, "heads": 2}
    build("amcp", {**settings, "embedding": 28})
    with pytest.raises(ValueError, match="vectors have 28 numbers, embedding must be that"):
        build("amcp", {**settings, "embedding": 20})


def test_weights_from_before_there_was_a_centre_are_not_centred():
    encoder = make_encoder("small", (3, 8, 8), (), 20)
    encoder.centre.fill_(1.0)
    old = {name: value for name, value in encoder.state_dict().items() if name != "centre"}
    encoder.load_state_dict(old)
    assert (encoder.centre == 0).all()
