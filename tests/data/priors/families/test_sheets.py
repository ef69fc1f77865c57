import pytest
import torch


@pytest.mark.parametrize(("k", "columns"), [(1, 2), (3, 2), (4, 3), (9, 4), (16, 7)])
def test_many_sheets_get_room(k, columns, draw):
    points, _ = draw("images", k=k, columns=8, used=1)
    assert torch.equal((points != 0).any(1).sum(1), torch.full((30,), columns))


def test_sheets_are_of_few_dimensions(draw):
    points, _ = draw("images", k=1, n=400, columns=16, used=16, n_sets=60)
    centred = points[:, :400] - points[:, :400].mean(1, keepdim=True)
    variance = torch.linalg.svdvals(centred).square()
    main = variance[:, :3].sum(1) / variance.sum(1)
    assert main.mean() > 0.75


def test_sheets_are_bent(draw):
    # The square of the first axis tells more about the second than chance, unlike in a Gaussian.
    points, _ = draw("images", k=1, n=1000, n_sets=60)
    points = points - points.mean(1, keepdim=True)
    _, _, axes = torch.linalg.svd(points, full_matrices=False)
    first, second = (points @ axes[:, :2].transpose(1, 2)).unbind(-1)
    told = [
        torch.stack([a.square(), b]).corrcoef()[0, 1].abs()
        for a, b in zip(first, second, strict=True)
    ]
    assert sum(t > 0.12 for t in told) > 25
