import pytest
import torch
from scipy import stats
from torch._subclasses.fake_tensor import FakeTensorMode

from coterie.data.batch import SetBatch
from coterie.data.priors.draws import Drawn, Draws
from coterie.data.priors.families import FAMILIES
from coterie.data.priors.universal import Universal, as_table, draw_columns, mix, with_noise

EVERY_FAMILY = tuple((name, 1.0) for name in FAMILIES)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def batch() -> SetBatch:
    return Universal(n_max=300, k_max=12, columns=8, noise=0.3).sample(300, seeded())


def numbers_of_clusters(labels: torch.Tensor) -> torch.Tensor:
    return torch.tensor([len(one[one >= 0].unique()) for one in labels])


def test_the_generator_alone_decides():
    prior = Universal(n_max=60, k_max=4, columns=4)
    state = torch.random.get_rng_state()
    first, again, other = (prior.sample(20, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(first.points, again.points)
    assert torch.equal(first.labels, again.labels)
    assert torch.equal(first.mask, again.mask)
    assert not torch.equal(first.points, other.points)


def test_nothing_waits_for_values_that_only_the_device_knows():
    # Tensors without values: an .item(), a boolean index or a shape that depends on data raises.
    with FakeTensorMode():
        batch = Universal(n_max=60, k_max=4, columns=4, shares=EVERY_FAMILY).sample(3, seeded())
        assert batch.points.shape == (3, 60, 4)


def test_padding_is_zero_and_last(batch):
    assert batch.points.shape == (300, 300, 8)
    assert batch.points.isfinite().all()
    assert (batch.points[~batch.mask] == 0).all()
    assert not (batch.mask[:, 1:] & ~batch.mask[:, :-1]).any()


def test_labels_are_minus_one_for_padding_and_noise(batch):
    assert (batch.labels[~batch.mask] == -1).all()
    noisy = ((batch.labels == -1) & batch.mask).sum(1) / batch.mask.sum(1)
    assert 0.2 < (noisy > 0).float().mean() < 0.4
    assert noisy.max() < 0.3
    quiet = Universal(n_max=100, k_max=4, columns=4, noise=0).sample(50, seeded())
    assert torch.equal(quiet.labels >= 0, quiet.mask)


def test_numbers_of_clusters(batch):
    k = numbers_of_clusters(batch.labels)
    assert k.min() == 1
    assert 10 <= k.max() <= 12
    assert (k == 1).float().mean() > 0.04


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_sets_of_one_cluster(family):
    prior = Universal(n_max=100, k_max=6, columns=4, shares=((family, 1.0),))
    k = numbers_of_clusters(prior.sample(150, seeded()).labels)
    assert (k == 1).sum() > 3
    assert (k > 1).sum() > 75


def test_sets_are_in_the_frame_of_the_network(batch):
    for points, valid in zip(batch.points.double(), batch.mask, strict=True):
        covariance = points[valid].T.cov(correction=0)
        variance = covariance.diagonal()
        assert variance[0] == pytest.approx(1, abs=1e-3)
        assert (variance.diff() < 1e-4).all()
        assert (covariance - variance.diag()).abs().max() < 1e-3


def test_families_come_in_the_shares_asked_for():
    shares = (0.5, 2.0, 1.5)
    drawn = [Drawn(torch.full((4000, 2, 3), float(i)), torch.full((4000, 2), i)) for i in range(3)]
    points, labels = mix(drawn, shares, Draws(seeded()))
    counts = torch.bincount(labels[:, 0], minlength=3)
    assert stats.chisquare(counts, 4000 * torch.tensor(shares) / 4).pvalue > 0.001
    assert torch.equal(points[..., 0], labels.float())
    assert torch.equal(labels[:, 0], labels[:, 1])


def test_every_share_is_that_of_a_family():
    assert {name for name, _ in Universal().shares} <= set(FAMILIES)
    assert sum(share for _, share in Universal().shares) == pytest.approx(1)


def test_columns_are_the_first_ones_and_often_two():
    used = draw_columns(4000, 16, Draws(seeded()))
    assert used.shape == (4000, 1, 16)
    assert (used.diff() <= 0).all()
    n_columns = used.sum((1, 2))
    assert n_columns.min() == 1
    assert n_columns.max() == 16
    assert 0.4 < (n_columns == 2).float().mean() < 0.6


def test_noise_is_even_in_the_box_of_the_points():
    random = Draws(seeded())
    points = random.normal(200, 400, 2)
    labels = torch.where(torch.arange(400) < 300, 0, -1).expand(200, -1)
    noisy = with_noise(points, labels, 1.0, random)
    lost = (noisy.labels == -1) & (labels == 0)
    assert torch.equal(noisy.points[~lost], points[~lost])
    assert (noisy.labels[:, 300:] == -1).all()
    share = lost.sum(1) / 300
    assert share.mean() == pytest.approx(0.105, abs=0.02)
    valid = points[:, :300]
    low, high = valid.amin(1, keepdim=True), valid.amax(1, keepdim=True)
    place = ((noisy.points - low) / (high - low))[lost]
    assert stats.kstest(place[:, 0], stats.uniform(-0.05, 1.1).cdf).pvalue > 0.001
    assert with_noise(points, labels, 0.0, random).labels.equal(labels)


def plane(n_sets: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Uniform points in the first two columns, a tenth of them padding."""
    points = torch.nn.functional.pad(
        Draws(seeded()).uniform(-1, 1, n_sets, 200, 2), (0, columns - 2)
    )
    return points, (torch.arange(200) < 180).expand(n_sets, -1)


def rank(points: torch.Tensor) -> torch.Tensor:
    return torch.linalg.matrix_rank(points - points.mean(1, keepdim=True), rtol=1e-4)


def test_without_tables_columns_are_only_turned():
    points, mask = plane(300, 6)
    turned = as_table(points, mask, 0.0, Draws(seeded()))
    assert (turned[:, 180:] == 0).all()
    assert (rank(turned[:, :180]) == 2).all()
    wide = (turned[:, :180] != 0).any(1).sum(1) > 2
    assert 0.02 < wide.float().mean() < 0.3


@pytest.mark.parametrize(("helpful", "most"), [(1, 1), (2, 2), (3, 4), (4, 5), (8, 11)])
def test_columns_of_noise_are_half_as_many_as_others_at_most(helpful, most):
    points, mask = plane(400, 16)
    points[..., :helpful] = torch.randn(*points.shape[:2], helpful, generator=seeded())
    points[..., helpful:] = 0
    found = as_table(points, mask, 1.0, Draws(seeded()))
    filled = (found != 0).any(1).sum(1)
    embedded = (as_table(points, mask, 0.0, Draws(seeded())) != 0).any(1).sum(1) > helpful
    assert filled[~embedded].max() == most
    often = (filled[~embedded] > helpful).float().mean()
    assert often == pytest.approx(max(0.0, 0.5 - 1 / helpful), abs=0.08)


def test_some_columns_are_rounded():
    points, mask = plane(300, 4)
    found = as_table(points, mask, 1.0, Draws(seeded()))[:, :180, 0]
    distinct = torch.tensor([len(column.unique()) for column in found])
    assert 0.1 < (distinct < 150).float().mean() < 0.4
    assert distinct.min() > 4


def test_steps_are_finer_where_there_are_two_columns():
    points, mask = plane(300, 4)
    many = torch.cat([points[..., :2], points[..., :2].flip(1)], -1)

    def fewest(given: torch.Tensor) -> int:
        found = as_table(given, mask, 1.0, Draws(seeded()))[:, :180, 0]
        return min(len(column.unique()) for column in found)

    assert fewest(points) > 30
    assert fewest(many) < 15
