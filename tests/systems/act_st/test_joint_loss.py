import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score
from torch import Tensor, nn
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.inference.loop import find_labels
from coterie.systems.act_st.config import ACTSTConfig
from coterie.systems.act_st.joint_loss import ACTST

SMALL = {"width": 16, "heads": 2, "slots": 4, "encoder_blocks": 1, "decoder_blocks": 1}


def system_of(seed: int = 0, **settings: int) -> ACTST:
    system = ACTST(ACTSTConfig(**{**SMALL, **settings}))
    generator = torch.Generator().manual_seed(seed)
    for parameter in system.parameters():
        nn.init.normal_(parameter, std=0.3, generator=generator)
    return system.double()


def drawn(n_sets: int = 5, n_max: int = 15, k_max: int = 4) -> SetBatch:
    batch = MixtureOfGaussians(n_max, k_max).sample(n_sets, torch.Generator().manual_seed(0))
    return SetBatch(batch.points.double(), batch.mask, batch.labels)


@torch.no_grad()
def eq_12(system: ACTST, points: Tensor, labels: Tensor) -> float:
    """DAC's equation 12 for one set (n, D), with the mean over the points."""
    true = len(labels.unique())
    decoded = system.network(points[None], torch.ones(1, len(points), dtype=torch.bool), 4)
    parts = [part[0, true - 1, :true] for part in decoded.mixtures]
    mixture = MixtureSameFamily(
        Categorical(logits=parts[0]), Independent(Normal(parts[1], parts[2].exp()), 1)
    )
    going_on, entropy = 1.0, 0.0
    for k, logit in enumerate(decoded.going_on[0], start=1):
        going_on = going_on * logit.sigmoid()
        entropy = entropy - (going_on if k < true else 1 - going_on).log()
    return float(entropy - mixture.log_prob(points).mean())


def test_loss_is_equation_12():
    system, batch = system_of(), drawn()
    expected = [
        eq_12(system, points[mask], labels[mask])
        for points, mask, labels in zip(batch.points, batch.mask, batch.labels, strict=True)
    ]
    assert len({len(labels[labels >= 0].unique()) for labels in batch.labels}) > 1
    assert system.loss(batch).item() == pytest.approx(np.mean(expected), rel=1e-10)


def test_the_numbering_of_the_clusters_does_not_matter():
    system, batch = system_of(), drawn()
    renumbered = torch.where(batch.mask, 3 - batch.labels, -1)
    other = SetBatch(batch.points, batch.mask, renumbered)
    assert torch.equal(system.loss(batch), system.loss(other))


def test_every_weight_learns():
    system = system_of()
    system.loss(drawn()).backward()
    for name, parameter in system.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    assert float(system.network.pool.first.grad.abs().sum()) > 0
    assert float(system.network.pool.grow.seeds.grad.abs().sum()) > 0


def test_without_labels_nothing_is_learnt():
    batch = drawn()
    with pytest.raises(ValueError, match="labelled sets"):
        system_of().loss(SetBatch(batch.points, batch.mask))


def test_memberships_are_the_posterior_of_the_mixture():
    system, batch = system_of(), drawn()
    answer = system.cluster(batch)
    k = system.config.step_limit
    assert answer.log_probabilities.shape == (*batch.mask.shape, k)
    total = answer.log_probabilities.exp().sum(-1)
    torch.testing.assert_close(total, torch.ones_like(total))
    again = system.read(batch.points, answer.memory)
    assert torch.equal(again, answer.log_probabilities)
    absent = answer.mixture.log_weight == -torch.inf
    assert absent.any()
    assert (answer.log_probabilities.isfinite().any(1) == ~absent).all()


def test_the_network_stops_at_its_step_limit_at_the_latest():
    system = system_of(further_steps=3)
    with torch.no_grad():
        system.network.head.weight[0] = 0.0
        system.network.head.bias[0] = 50.0  # it always goes on
    answer = system.cluster(drawn())
    assert answer.mixture.log_weight.isfinite().sum(-1).tolist() == [7] * 5
    with torch.no_grad():
        system.network.head.bias[0] = -50.0
    assert system.cluster(drawn()).mixture.log_weight.isfinite().sum(-1).tolist() == [1] * 5


def test_a_few_sets_are_learnt_by_heart():
    torch.manual_seed(0)
    system = ACTST(ACTSTConfig(width=32, heads=2, slots=8, encoder_blocks=1, decoder_blocks=1))
    batch = MixtureOfGaussians(60, 4).sample(4, torch.Generator().manual_seed(3))
    optimizer = torch.optim.Adam(system.parameters(), 3e-3)
    for _ in range(300):
        optimizer.zero_grad()
        system.loss(batch).backward()
        optimizer.step()
    labels = find_labels(system, batch)
    for found, true, mask in zip(labels, batch.labels, batch.mask, strict=True):
        assert len(found[mask].unique()) == len(true[mask].unique())
        assert adjusted_rand_score(true[mask], found[mask]) > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 10, "heads": 4}, "4 heads must divide width"),
        ({"k_max": 0}, "k_max must be 1 or more"),
        ({"k_max": 1000}, "k_max must be 256 or less"),
        ({"further_steps": -1}, "further_steps must be 0 or more"),
        ({"decoder_blocks": 1.5}, "decoder_blocks must be"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        ACTSTConfig(**settings)


def test_a_network_without_encoder_blocks_pools_the_points_themselves():
    system, batch = system_of(encoder_blocks=0, decoder_blocks=0), drawn()
    assert system.loss(batch).isfinite()
