"""All steps of a labelled set at once, against the loop that is told the labels."""

from pathlib import Path

import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.functional.partitions import one_hot
from coterie.systems.chigac.config import CHiGacConfig
from coterie.systems.chigac.inference import STRATEGIES
from coterie.systems.chigac.lessons import lesson, order_of
from coterie.systems.chigac.steps import CHiGac
from coterie.weights.format import load_system


def given(system, sets, n_clusters=3, seed=0):
    embedded, _ = system.network.embed(sets.points, sets.mask)
    generator = torch.Generator().manual_seed(seed)
    return lesson(system.network, embedded, sets.labels, n_clusters, generator)


def test_every_cluster_has_one_step(small, sets):
    found = given(small(), sets)
    n_clusters = [len(set(labels[labels >= 0].tolist())) for labels in sets.labels]
    assert found.exists.sum(1).tolist() == n_clusters
    assert torch.equal(found.bound.members.any(2), found.exists)
    assert torch.equal(found.bound.members.sum(1), sets.mask.long())  # no point twice


def test_a_step_is_asked_about_what_is_left(small, sets):
    found = given(small(), sets)
    left = sets.mask.clone()
    for number in range(3):
        own, asked = found.bound.members[:, number], found.bound.asked[:, number]
        pioneer = left & ~asked & found.exists[:, number, None]
        assert torch.equal(pioneer.sum(1), found.exists[:, number].long())
        assert (pioneer <= own).all()  # the pioneer is one of the cluster
        assert not (asked & ~left).any()
        left = left & ~own
    assert not left.any()


def test_the_next_cluster_is_the_one_that_pioneers_most_probably_belong_to(small, sets):
    system = small()
    network = system.network
    embedded, _ = network.embed(sets.points, sets.mask)
    members = one_hot(sets.labels, 3).transpose(1, 2)
    clusters = network.summarise(embedded.points, members)
    order = order_of(network, embedded, members, clusters)
    for row in range(3):
        labels, left = sets.labels[row], sets.mask[row].clone()
        so_far = []
        for number in range(int(order.exists[row].sum())):
            slots = clusters[row, so_far][None, None]
            known = network.know(embedded.points[row : row + 1], left[None, None], slots, None)
            one = type(embedded)(*(part[row : row + 1] for part in embedded))
            logits = network.pioneer_logits(one, known, torch.tensor([number]))[0, 0]
            chances = logits[left].softmax(0)
            mass = [float(chances[labels[left] == cluster].sum()) for cluster in range(3)]
            target = int(order.target[row, number])
            assert target == max(range(3), key=mass.__getitem__)
            so_far.append(target)
            left &= labels != target


def test_the_order_of_the_points_changes_nothing(small, sets):
    system = small(inference="ai", inner_steps=0)
    network = system.network
    order = torch.randperm(12, generator=torch.Generator().manual_seed(3))
    permuted = SetBatch(sets.points[:, order], sets.mask[:, order], sets.labels[:, order])
    plain, other = (network.embed(each.points, each.mask)[0] for each in (sets, permuted))
    torch.testing.assert_close(plain.points[:, order], other.points)
    members = [one_hot(each.labels, 3).transpose(1, 2) for each in (sets, permuted)]
    slots = [network.summarise(e.points, m) for e, m in zip((plain, other), members, strict=True)]
    torch.testing.assert_close(*slots)
    orders = [order_of(network, *each) for each in zip((plain, other), members, slots, strict=True)]
    assert torch.equal(orders[0].target, orders[1].target)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_weight_learns(name, sets):
    torch.manual_seed(0)
    settings = {"width": 16, "heads": 2, "slots": 4, "latent": 8, "k_max": 3, "inner_steps": 2}
    more = {"frequencies": 2, "point_layers": 1} if name == "ai" else {}
    system = CHiGac(CHiGacConfig(inference=name, **settings, **more)).double()
    if system.refine is not None:  # which starts from zeros
        system.refine.propose[-1].weight.data.normal_()
    system.loss(sets, torch.Generator().manual_seed(0)).backward()
    for weight_name, weight in system.named_parameters():
        assert weight.grad is not None, weight_name
        assert weight.grad.isfinite().all(), weight_name
        assert weight.grad.abs().max() > 1e-12, weight_name


def test_the_loss_is_minus_the_bound_of_a_point(small, sets):
    system = small(k_max=3)
    bounds = system.log_likelihood_bound(sets, torch.Generator().manual_seed(4))
    loss = system.loss(sets, torch.Generator().manual_seed(4))
    assert bounds.shape == (3,)
    assert float(loss) == pytest.approx(-float(bounds.sum()) / int(sets.mask.sum()))


def test_companions_and_padding_leave_the_bound_unchanged(small, sets):
    """As far as random numbers allow: the mean over many draws."""
    system = small(inference="ai")

    def mean_bound(batch, n_draws=400):
        copies = SetBatch(*(part[1:2].expand(n_draws, *part.shape[1:]) for part in batch))
        return system.log_likelihood_bound(copies, torch.Generator().manual_seed(0))

    whole = mean_bound((sets.points, sets.mask, sets.labels))
    mask = sets.mask[1]
    alone = mean_bound(tuple(part[:, mask] for part in (sets.points, sets.mask, sets.labels)))
    error = float((whole.var() / 400 + alone.var() / 400).sqrt())
    assert float(whole.mean()) == pytest.approx(float(alone.mean()), abs=4 * error)


def test_inference_mode_is_no_obstacle(small, sets):
    system = small()
    with torch.inference_mode():
        batch = SetBatch(sets.points.clone(), sets.mask.clone(), sets.labels.clone())
        bounds = system.log_likelihood_bound(batch, torch.Generator().manual_seed(4))
    expected = system.log_likelihood_bound(sets, torch.Generator().manual_seed(4))
    torch.testing.assert_close(bounds.clone(), expected)


def test_seconds_of_training_make_true_partitions_probable(tiny_chigac):
    trained = load_system(Path(tiny_chigac))[0]
    fresh = MixtureOfGaussians(n_max=40, k_max=3).sample(32, torch.Generator().manual_seed(-1))
    untrained = CHiGac(trained.config)
    losses = [
        system.loss(fresh, torch.Generator().manual_seed(0)).item()
        for system in (trained, untrained)
    ]
    assert losses[0] < 0.4 < 1.5 < losses[1]
