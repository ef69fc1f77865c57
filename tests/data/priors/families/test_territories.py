import torch
from scipy import ndimage


def test_territories_are_in_one_piece(draw):
    # On a raster finer than the gaps are wide, the points of a territory, blurred over half a
    # square, hang together.
    points, labels = draw("territories", k=3, n=900, n_sets=20)
    pieces = []
    for one, label in zip(points[..., :2], labels, strict=True):
        for j in label[label >= 0].unique():
            cells = ((one[label == j] + 2) * 8).long().clamp(0, 31)
            raster = torch.zeros(32, 32)
            raster[cells[:, 0], cells[:, 1]] = 1
            blurred = ndimage.binary_dilation(raster.numpy(), iterations=1, structure=[[1] * 3] * 3)
            parts, n_parts = ndimage.label(blurred, structure=[[1] * 3] * 3)
            sizes = ndimage.sum(blurred, parts, range(1, n_parts + 1))
            pieces.append(max(sizes) / sum(sizes))
    assert sum(piece > 0.9 for piece in pieces) > 0.9 * len(pieces)


def test_territories_wind(draw):
    # The middle of a convex territory lies in it; that of a winding one is often a stranger's.
    points, labels = draw("territories", k=3, n=900, n_sets=60)
    outside = 0
    for one, label in zip(points, labels, strict=True):
        valid = label >= 0
        for j in label[valid].unique():
            middle = one[label == j].mean(0)
            nearest = (one[valid] - middle).norm(dim=1).argmin()
            outside += bool(label[valid][nearest] != j)
    assert outside > 3


def test_gaps_are_kept(draw):
    points, labels = draw("territories", k=4, n=600, n_sets=30)
    for one, label in zip(points, labels, strict=True):
        one, label = one[label >= 0], label[label >= 0]
        apart = torch.cdist(one, one).fill_diagonal_(torch.inf)
        strangers = torch.where(label[:, None] == label, torch.inf, apart).amin()
        # Bending may press a gap together, never close it.
        assert strangers > 0.5 * apart.amin(1).median()


def test_some_land_is_left_empty(draw):
    points, labels = draw("territories", k=3, n=900, n_sets=60)
    assert ((labels >= 0).sum(1) == 900).float().mean() > 0.9
    squares = torch.tensor(
        [
            len((4 * one[label >= 0, :2]).long().unique(dim=0))
            for one, label in zip(points, labels, strict=True)
        ]
    ).float()
    assert squares.min() < 0.5 * squares.max()


def test_there_is_land_for_every_cluster(draw):
    points, labels = draw("territories", k=32, n=390, n_sets=40, k_max=32)
    assert points[labels >= 0].norm(dim=1).max() < 1.9  # bent, a corner of the square is 1.84 away
