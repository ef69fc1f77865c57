import torch


def test_nobody_nests_what_could_not_be_told(draw, purity):
    # Rings of 13 points each are no rings: with so many clusters they are all side by side.
    assert purity(draw("scenes", k=15, n=200, n_sets=60)).mean() > 0.85


def test_some_scenes_are_nested(draw):
    points, labels = draw("scenes", k=2, n=300, n_sets=200)
    inside = 0
    for one, label in zip(points[..., :2], labels, strict=True):
        first, second = one[label == 0], one[label == 1]
        for inner, outer in ((first, second), (second, first)):
            middle = outer.mean(0)
            hole = (outer - middle).norm(dim=1).quantile(0.02)
            inside += bool(((inner - middle).norm(dim=1) < hole).float().mean() > 0.95)
    assert inside >= 10


def test_shapes_are_thick_and_thin(draw):
    points, _ = draw("scenes", k=1, n=400, n_sets=100)
    apart = torch.cdist(points[:, :400, :2], points[:, :400, :2])
    apart = apart + 1e9 * torch.eye(400)
    # For points on a curve the distance to the eighth neighbour is eight times that to the first,
    # in the plane less than three times.
    near = apart.topk(8, largest=False).values.median(1).values
    growth = near[:, 7] / near[:, 0]
    assert (growth > 4.5).sum() > 10
    assert (growth < 4).sum() > 20
