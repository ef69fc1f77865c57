"""Sets of images in front of every system that clusters sets of vectors."""

import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.encoders.images import ENCODERS, ResNetEncoder, make_encoder
from coterie.functional.neighbours import neighbour_loss
from coterie.functional.principal import LENGTH, on_axes, principal_axes
from coterie.inference.loop import find_labels
from coterie.systems.registry import build, traits_of

SMALL = {
    "amcp": {
        "width": 16,
        "heads": 2,
        "references": 4,
        "encoder_blocks": 1,
        "decoder_blocks": 0,
        "encode_every": 0,
        "proposal": "anchor",
        "questions": 3,
        "read_width": 8,
    },
    "dac": {"width": 16, "heads": 2, "slots": 4, "encoder_blocks": 1, "decoder_blocks": 1},
    "ncp": {"width": 16, "layers": 1, "point_width": 8, "cluster_width": 8},
    "act_st": {"width": 16, "heads": 2, "slots": 4, "encoder_blocks": 1, "decoder_blocks": 1},
    "chigac": {"width": 16, "heads": 2, "slots": 4, "encoder_blocks": 1, "latent": 8},
}
EVERY_SYSTEM = pytest.mark.parametrize("name", sorted(SMALL))
ON_AXES = {
    "image": (1, 8, 8),
    "convolutions": (4,),
    "columns": 3,
    "embedding": 6,
    "neighbour_weight": 1.0,
    "looseness": 1.3,
    "set_statistics": False,
    "k_max": 4,
}


def built(name, **changes):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build(name, {**SMALL[name], **ON_AXES, **changes})


@pytest.fixture
def sets() -> SetBatch:
    """Three sets of 20 images in up to four classes; the last five of a set are not there."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(4, (3, 20), generator=generator)
    kinds = torch.rand(4, 1, 8, 8, generator=generator)
    images = kinds[labels] + 0.1 * torch.rand(3, 20, 1, 8, 8, generator=generator)
    mask = torch.arange(20).expand(3, -1) < 15
    return SetBatch(images.clamp(0, 1), mask, torch.where(mask, labels, -1))


@EVERY_SYSTEM
def test_every_system_reads_images(name, sets):
    system = built(name)
    assert traits_of(name, {**SMALL[name], **ON_AXES}).item_shape == (1, 8, 8)
    found = find_labels(system.eval(), sets, generator=torch.Generator().manual_seed(0))
    assert found.shape == (3, 20)
    vectors = system.as_vectors(sets)
    assert vectors.points.shape == (3, 20, 3)
    encoded = system.item_encoder(sets.points.flatten(0, 1)).view(3, 20, 6)
    expected = on_axes(encoded, principal_axes(encoded, sets.mask, 3))
    assert torch.allclose(vectors.points, expected, atol=1e-5)


@EVERY_SYSTEM
def test_vectors_may_have_one_length_on_the_axes(name, sets):
    system = built(name, spherical=True)
    vectors = system.as_vectors(sets).points[sets.mask]
    assert torch.allclose(vectors.norm(dim=-1), torch.full((len(vectors),), LENGTH), atol=1e-5)
    taught = system.taught(sets, torch.Generator().manual_seed(0)).batch.points[sets.mask]
    assert torch.allclose(taught.norm(dim=-1), torch.full((len(taught),), LENGTH), atol=1e-5)


@EVERY_SYSTEM
def test_encoder_and_set_network_learn_apart(name, sets):
    """The encoder's gradient is that of its neighbours alone."""
    system = built(name).train()
    system.loss(sets, torch.Generator().manual_seed(0)).backward()
    learnt = [weight.grad.clone() for weight in system.item_encoder.parameters()]
    assert any(
        float(weight.grad.abs().sum()) > 0
        for weight in system.network.parameters()
        if weight.grad is not None
    )
    system.zero_grad()
    images = sets.points.flatten(0, 1)
    vectors = system.item_encoder(images).view(3, 20, 6)
    neighbour_loss(vectors, sets.labels, sets.mask).backward()
    for grad, weight in zip(learnt, system.item_encoder.parameters(), strict=True):
        assert torch.allclose(grad, weight.grad, atol=1e-5)


def test_without_an_embedding_the_encoder_learns_from_the_sets(sets):
    changes = {"embedding": 0, "neighbour_weight": 0.0, "looseness": 0.0}
    system = built("amcp", **changes).train()
    system.loss(sets, torch.Generator().manual_seed(0)).backward()
    assert float(system.item_encoder.out.weight.grad.abs().sum()) > 0


@EVERY_SYSTEM
def test_an_encoder_that_nothing_teaches_stays_as_it_is(name, sets):
    system = built(name, neighbour_weight=0.0).train()
    before = {key: value.clone() for key, value in system.item_encoder.state_dict().items()}
    system.loss(sets, torch.Generator().manual_seed(0)).backward()
    assert all(weight.grad is None for weight in system.item_encoder.parameters())
    after = system.item_encoder.state_dict()
    assert all(torch.equal(value, before[key]) for key, value in after.items())


def test_adapted_is_the_same_system_with_other_statistics(sets):
    system = built("amcp").eval()
    images = sets.points.flatten(0, 1)
    other = system.adapted(images)
    assert type(other) is type(system)
    assert not torch.allclose(other.item_encoder(images), system.item_encoder(images), atol=1e-2)
    for name, value in other.network.state_dict().items():
        assert torch.equal(value, system.network.state_dict()[name])


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_by_name(name):
    encoder = make_encoder(name, (3, 8, 8), (4, 8), 10).eval()
    vectors = encoder(torch.rand(5, 3, 8, 8))
    assert vectors.shape == (5, 10)
    assert torch.allclose(vectors.norm(dim=1), torch.full((5,), 10**0.5))
    assert encoder.adapted(torch.rand(9, 3, 8, 8))(torch.rand(2, 3, 8, 8)).shape == (2, 10)


def test_a_backbone_that_was_trained_without_labels_is_the_start():
    moco = build("moco", {"backbone": "small", "mean": (0.2,), "std": (0.3,), "queue": 8})
    encoder = ResNetEncoder((1, 8, 8), "small", 128)
    encoder.start_from(moco.pair.teacher)
    images = torch.rand(4, 1, 8, 8)
    expected = moco.eval().pair.teacher.features(images)
    found = encoder.eval()(images)  # of length sqrt(128)
    assert torch.allclose(
        found / found.norm(dim=1, keepdim=True),
        expected / expected.norm(dim=1, keepdim=True),
        atol=1e-5,
    )
    with pytest.raises(ValueError, match="its backbone is no 'medium' for 1 channels"):
        ResNetEncoder((1, 8, 8), "medium", 256).start_from(moco.pair.teacher)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image": (8, 8)}, "image must be channels, height and width"),
        ({"image": ()}, "embedding is for images: it needs the setting image"),
        ({"embedding": 2}, "embedding must be at least columns"),
        ({"embedding": 0}, "looseness needs an embedding"),
        ({"embedding": 0, "looseness": 0.0, "spherical": True}, "spherical needs an embedding"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        built("amcp", **changes)
