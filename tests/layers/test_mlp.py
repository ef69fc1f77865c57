from torch import nn

from coterie.layers.mlp import mlp


def test_widths_and_activations_alternate():
    layers = mlp([2, 5, 3])
    assert [type(layer) for layer in layers] == [nn.Linear, nn.GELU, nn.Linear]
    assert (layers[0].in_features, layers[2].out_features) == (2, 3)


def test_the_activation_may_be_another():
    assert [type(layer) for layer in mlp([2, 5, 4, 3], "relu")][1::2] == [nn.ReLU, nn.ReLU]
