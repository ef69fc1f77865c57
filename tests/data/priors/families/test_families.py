import pytest
import torch

from coterie.data.priors.families import FAMILIES

IN_THE_PLANE = ["scenes", "regions", "territories", "roads", "enclosures", "ribbons"]
SIFTED = ["regions", "territories"]  # these have cells for clusters, and keep some points only

every_family = pytest.mark.parametrize("family", FAMILIES)


@every_family
def test_the_generator_alone_decides(family, draw):
    state = torch.random.get_rng_state()
    first, again, other = (draw(family, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.equal(first.points, again.points)
    assert torch.equal(first.labels, again.labels)
    assert not torch.equal(first.points, other.points)


@every_family
@pytest.mark.parametrize("k", [1, 2, 5, 13])
def test_labels_name_the_clusters_of_the_plan(family, k, draw):
    points, labels = draw(family, k=k)
    assert points.isfinite().all()
    assert labels.max() < k
    assert (labels[:, 200:] == -1).all()
    valid = labels >= 0
    assert not (valid[:, 1:] & ~valid[:, :-1]).any()
    if family not in SIFTED:
        assert valid[:, :200].all()
        assert all(len(one.unique()) == k + 1 for one in labels)


@every_family
def test_one_cluster_has_an_extent(family, draw):
    points, labels = draw(family, k=1)
    for one, valid in zip(points, labels >= 0, strict=True):
        assert valid.sum() > 100
        assert (one[valid, :2].std(0) > 1e-3).all()


@every_family
def test_a_single_cluster_may_be_all_there_is_room_for(family, draw):
    points, labels = draw(family, k=1, k_max=1, n_sets=5)
    assert points.isfinite().all()
    assert labels.max() == 0


@every_family
def test_columns_that_a_set_does_not_have_are_empty(family, draw):
    points, _ = draw(family, columns=8, used=3, k=2)
    assert (points[..., 3:] == 0).all()
    assert ((points[..., 2] == 0).all() == (family in IN_THE_PLANE)).all()


@every_family
def test_two_columns_are_enough(family, draw):
    points, _ = draw(family, columns=2)
    assert points.shape[-1] == 2
    assert points.isfinite().all()


@every_family
@pytest.mark.parametrize(("k", "n"), [(2, 100), (4, 400), (14, 400)])
def test_neighbours_mostly_share_a_label(family, k, n, draw, purity):
    found = purity(draw(family, k=k, n=n, n_sets=100))
    assert found.mean() > 0.9
    assert (found > 0.7).float().mean() > 0.9


@every_family
def test_sets_of_a_family_differ_in_shape(family, draw):
    points, labels = draw(family, k=1, n_sets=60)
    shape = torch.stack(
        [one[valid, :2].T.cov() for one, valid in zip(points, labels >= 0, strict=True)]
    )
    elongation = torch.linalg.eigvalsh(shape)
    assert (elongation[:, 1] / elongation[:, 0]).log().std() > 0.1
