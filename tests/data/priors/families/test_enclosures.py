import torch

from coterie.data.priors.families.enclosures import FENCE_POSTS


def test_the_last_cluster_runs_around_the_others(draw):
    points, labels = draw("enclosures", k=3, n=900, n_sets=40)
    closed = []
    for one, label in zip(points[..., :2], labels, strict=True):
        others = one[(label >= 0) & (label < 2)]
        middle = others.mean(0)
        fence = one[label == 2] - middle
        reach = (others - middle).norm(dim=1).amax()
        assert fence.norm(dim=1).amin() > 1.1 * reach
        if len(fence) >= 200:  # chance leaves wider gaps in a fence of few posts
            closed.append(torch.atan2(fence[:, 1], fence[:, 0]).sort().values.diff().amax() < 0.5)
    assert len(closed) > 20
    assert all(closed)


def test_a_fence_of_few_posts_is_none(draw):
    n = 4 * (FENCE_POSTS - 1)
    enclosed, scene = (draw(family, k=4, n=n) for family in ("enclosures", "scenes"))
    assert torch.equal(enclosed.points, scene.points)
