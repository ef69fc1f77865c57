import torch
from torch.nn.functional import linear, normalize

from coterie.layers.heads import UnitHeads


def test_heads_are_linear_maps_side_by_side_ending_on_the_sphere():
    heads, features = UnitHeads(6, 4, 3), torch.randn(5, 6)
    found = heads(features)
    assert found.shape == (5, 4, 3)
    for number in range(4):
        alone = linear(features, heads.weight[number], heads.bias[number])
        torch.testing.assert_close(found[:, number], normalize(alone, dim=-1))


def test_some_of_the_heads():
    heads, features = UnitHeads(6, 4, 3), torch.randn(5, 6)
    torch.testing.assert_close(heads(features, slice(-1, None)), heads(features)[:, -1:])
    assert heads(features[:0]).shape == (0, 4, 3)
