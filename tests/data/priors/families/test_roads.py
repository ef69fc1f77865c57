import torch


def test_roads_are_straight_and_towns_round(draw):
    points, labels = draw("roads", k=5, n=1000, n_sets=60)
    elongation = []
    for one, label in zip(points[..., :2], labels, strict=True):
        for j in range(5):
            variance = torch.linalg.eigvalsh(one[label == j].T.cov())
            elongation.append(float((variance[1] / variance[0]).sqrt()))
    straight = sum(e > 3 for e in elongation) / len(elongation)
    round_ = sum(e < 1.5 for e in elongation) / len(elongation)
    assert straight > 0.55
    assert round_ > 0.15
    assert straight + round_ > 0.95


def test_roads_touch(draw):
    points, labels = draw("roads", k=4, n=800, n_sets=60)
    reach = []
    for one, label in zip(points[..., :2], labels, strict=True):
        one, label = one[label >= 0], label[label >= 0]
        apart = torch.cdist(one, one)
        nearest = torch.where(label[:, None] == label, torch.inf, apart).amin()
        reach.append(nearest / one.std())
    assert torch.stack(reach).median() < 0.25


def test_no_two_roads_are_the_same(draw):
    points, labels = draw("roads", k=8, n=800, n_sets=60)
    for one, label in zip(points[..., :2], labels, strict=True):
        moments = torch.stack(
            [torch.cat([one[label == j].mean(0), one[label == j].std(0)]) for j in range(8)]
        )
        assert torch.cdist(moments, moments).fill_diagonal_(torch.inf).amin() > 0.02
