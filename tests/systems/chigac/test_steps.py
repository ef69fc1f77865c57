"""The loop: permutations, repeatability, joint draws, and how new points are read."""

from itertools import product

import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.inference.loop import find_clusters
from coterie.systems.chigac.config import CHiGacConfig
from coterie.systems.protocol import Sequential, claimed_labels


def run(system, batch, seed=0):
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    return find_clusters(system, SetBatch(batch.points, batch.mask), generator=generator)


def test_it_is_a_sequential_system(small):
    assert isinstance(small(), Sequential)


def test_permuting_the_points_permutes_the_clusters(small, sets):
    system = small(doubt=1.0)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(1))
    permuted = SetBatch(sets.points[:, order], sets.mask[:, order])
    plain, other = run(system, sets), run(system, permuted)
    labels = claimed_labels(plain.commits)
    assert torch.equal(labels[:, order], claimed_labels(other.commits))
    assert int(labels.max()) > 0
    for one, two in zip(plain.commits, other.commits, strict=True):
        torch.testing.assert_close(one.membership_logits[:, order], two.membership_logits)


def test_companions_and_padding_change_nothing(small, sets):
    system = small()
    together = claimed_labels(run(system, sets, None).commits)
    for number, mask in enumerate(sets.mask):
        alone = SetBatch.single(sets.points[number][mask])
        labels = claimed_labels(run(system, alone, None).commits)[0]
        assert torch.equal(together[number][mask], labels)
    assert (together[~sets.mask] == -1).all()


def test_the_seed_decides(small, sets):
    system = small(draws="joint")
    first, again, other = (claimed_labels(run(system, sets, seed).commits) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_every_point_finds_a_cluster_where_no_doubt_counts(small, sets):
    for system in (small(doubt=1.0), small(draws="joint")):
        labels = claimed_labels(run(system, sets).commits)
        assert torch.equal(labels >= 0, sets.mask)


def test_points_in_doubt_begin_no_cluster(small, sets):
    system = small(doubt=0.2)
    state = run(system, sets)
    assert len(state.commits) > 1
    for number, commit in enumerate(state.commits[1:], start=1):
        earlier = torch.stack([each.membership_logits for each in state.commits[:number]])
        refused = (1 - earlier.sigmoid()).prod(0)  # by all clusters before
        begins = commit.joined & (refused >= 0.8)
        assert torch.equal(begins.any(1), commit.joined.any(1))
    assert len(run(small(doubt=1.0), sets).commits) >= len(state.commits)


def test_replay_reads_the_points_as_the_steps_did(small, sets):
    system = small(doubt=1.0)
    state = run(system, sets)
    again = system.replay(sets.points, state.commits)
    for number, commit in enumerate(state.commits):
        known = commit.membership_logits.isfinite() & commit.joined.any(1, keepdim=True)
        torch.testing.assert_close(again[..., number][known], commit.membership_logits[known])


def test_probabilities_are_averaged_over_the_draws_of_z(small, sets):
    system = small(samples=5)
    commit = run(system, sets).commits[0]
    slots, z = commit.memory[-2:]
    assert z.shape == (3, 5, 8)
    each = torch.stack(
        [
            system.replay(
                sets.points,
                [
                    type(commit)(
                        commit.joined,
                        commit.membership_logits,
                        (*commit.memory[:-2], slots, one[:, None]),
                    )
                ],
            )[..., 0]
            for one in z.unbind(1)
        ]
    )
    mean = each.sigmoid().mean(0)
    torch.testing.assert_close(commit.membership_logits[sets.mask].sigmoid(), mean[sets.mask])


def test_pioneers_are_among_those_that_joined(small, sets):
    system = small(doubt=1.0)
    state = run(system, sets)
    pioneers = system.pioneers(sets.points, state.commits)
    assert pioneers.shape == (3, len(state.commits))
    for number, commit in enumerate(state.commits):
        began = commit.joined.gather(1, pioneers[:, number, None])[:, 0]
        assert torch.equal(began, commit.joined.any(1))


def test_without_a_generator_z_is_the_mean_of_the_prior(small, sets):
    commits = [run(small(), sets, None).commits for _ in range(2)]
    assert commits[0][0].memory[-1].shape == (3, 1, 8)
    assert torch.equal(commits[0][0].membership_logits, commits[1][0].membership_logits)


def test_the_number_of_clusters_is_bounded_by_no_prototype(small, sets):
    system = small(prototypes=1, doubt=1.0)
    system.network.offset.data.fill_(-100.0)  # everybody is alone
    labels = claimed_labels(run(system, sets).commits)
    assert (labels.amax(1) + 1).tolist() == sets.mask.sum(1).tolist()


def canonical(labels):
    names = {name: number for number, name in enumerate(dict.fromkeys(labels))}
    return tuple(names[label] for label in labels)


def test_joint_draws_follow_the_model(small):
    """Three points: shares of all partitions against sums over pioneers, with z integrated out."""
    system = small(draws="joint", latent=8)
    points = torch.tensor([[0.0, 0.0], [0.5, 0.2], [-1.0, 1.5]]).double()
    n_draws = 6000
    batch = SetBatch.single(points).repeated(n_draws)
    labels = claimed_labels(run(system, batch).commits)
    drawn = [canonical(each) for each in labels.tolist()]
    partitions = sorted({canonical(each) for each in product(range(3), repeat=3)})
    shares = torch.tensor([drawn.count(each) / n_draws for each in partitions])
    # A step's decisions, given its pioneer, are independent given z: draw z, sum over the rest.
    network, one = system.network, SetBatch.single(points)
    embedded, _ = network.embed(one.points, one.mask)
    nothing = embedded.points.new_zeros(1, 1, 0, 2, 16)
    known = network.know(embedded.points, one.mask[:, None], nothing, None)
    reading = network.reading(embedded.points, known)
    chances = network.pioneer_logits(embedded, known, torch.tensor([0]))[0, 0].softmax(0)
    generator = torch.Generator().manual_seed(9)
    first = torch.zeros(2, 2, 2).double()  # who is in the first cluster
    for pioneer in range(3):
        prior = network.prior(embedded.points[:, pioneer][:, None], known)
        noise = torch.randn(1, 1, 6000, 8, generator=generator).double()
        joins = network.decode(embedded.unit, reading, prior.over(2).at(noise))[0, 0].sigmoid()
        for choice in product((0, 1), repeat=3):
            if choice[pioneer]:
                wanted = torch.tensor(choice)
                each = torch.where(wanted == 1, joins, 1 - joins)
                each[:, pioneer] = 1.0
                first[choice] += chances[pioneer] * each.prod(1).mean()
    assert float(first.sum()) == pytest.approx(1)
    together = shares[partitions.index((0, 0, 0))]
    assert float(together) == pytest.approx(float(first[1, 1, 1]), abs=0.025)
    in_first = torch.tensor([[label == 0 for label in each] for each in labels.tolist()]).double()
    expected = torch.stack([first.sum((1, 2))[1], first.sum((0, 2))[1], first.sum((0, 1))[1]])
    torch.testing.assert_close(in_first.mean(0), expected, atol=0.025, rtol=0)
    assert 0.02 < float(together) < 0.98  # in doubt, or this would say little


def test_settings_that_do_not_fit_are_refused():
    for wrong, told in (
        ({"heads": 3}, "3 heads must divide the width"),
        ({"image": (28, 28)}, "channels, height and width"),
        ({"inference": "mcmc"}, "one of ai, semi-ai, iai, svi-ai, eai"),
        ({"doubt": 2.0}, "doubt must lie between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=told):
            CHiGacConfig(**wrong)


def test_images_are_encoded_first(small):
    system = small(image=(1, 8, 8), convolutions=(4, 8), columns=6)
    images = torch.rand(2, 5, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double()
    batch = SetBatch(images, torch.ones(2, 5, dtype=torch.bool))
    labels = claimed_labels(run(system, batch).commits)
    assert labels.shape == (2, 5)
    other = system.adapted(images[0])
    assert other.traits == system.traits
    with pytest.raises(ValueError, match="no statistics"):
        small().adapted(images[0])
