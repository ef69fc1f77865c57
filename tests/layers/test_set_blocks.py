import pytest
import torch
from torch import nn
from torch.nn.functional import layer_norm, relu

from coterie.layers import set_blocks
from coterie.layers.set_blocks import ISAB, MAB, PMA, SAB, AdaptivePMA, AnchorBlock

IN, WIDTH, HEADS, SLOTS = 3, 8, 2, 4
BLOCKS = {
    "SAB": lambda: SAB(IN, WIDTH, HEADS),
    "ISAB": lambda: ISAB(IN, WIDTH, HEADS, SLOTS),
    "PMA": lambda: PMA(IN, WIDTH, HEADS, SLOTS),
}
every_block = pytest.mark.parametrize("name", BLOCKS)
pointwise_block = pytest.mark.parametrize("name", ["SAB", "ISAB"])


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def seeded(module: nn.Module) -> nn.Module:
    """The module with weights that are neither zero nor one anywhere, norms and biases included."""
    generator = torch.Generator().manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5, generator=generator)
    return module.double()


def test_mab_is_equation_1():
    block = seeded(MAB(WIDTH, WIDTH, WIDTH, HEADS))
    x, y = draw(2, 5, WIDTH), draw(2, 7, WIDTH, seed=1)
    mask = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    oracle = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        oracle.in_proj_weight.copy_(torch.cat([block.query.weight, block.key_value.weight]))
        oracle.in_proj_bias.copy_(torch.cat([block.query.bias, block.key_value.bias]))
        oracle.out_proj.load_state_dict(block.out.state_dict())
    mixed, _ = oracle(x, y, y, key_padding_mask=~mask)

    def norm(z, layer):
        return layer_norm(z, (WIDTH,), layer.weight, layer.bias)

    hidden = norm(block.query(x) + mixed, block.norm_attention)
    expected = norm(hidden + relu(block.feed_forward(hidden)), block.norm_feed_forward)
    torch.testing.assert_close(block(x, y, mask), expected)


@pointwise_block
def test_permuting_the_points_permutes_the_result(name):
    block, x, order = seeded(BLOCKS[name]()), draw(2, 6, IN), torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(block(x[:, order]), block(x)[:, order])
    assert not torch.allclose(block(x), block(x)[:, order])


def test_pooling_does_not_see_the_order():
    block, x, order = seeded(BLOCKS["PMA"]()), draw(2, 6, IN), torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(block(x[:, order]), block(x))


@every_block
def test_points_of_a_set_influence_one_another(name):
    block, x = seeded(BLOCKS[name]()), draw(1, 6, IN)
    moved = x.clone()
    moved[0, 5] += 1.0
    assert not torch.isclose(block(moved)[0, :4], block(x)[0, :4]).all(-1).any()


@every_block
def test_masked_points_have_no_influence(name):
    block, x = seeded(BLOCKS[name]()), draw(2, 6, IN)
    mask = torch.tensor([[True, False, True, True, False, True], [True] * 6])
    x[~mask] = 1e3
    kept = mask[0] if name != "PMA" else slice(None)
    torch.testing.assert_close(block(x, mask)[0, kept], block(x[:1, mask[0]])[0])
    torch.testing.assert_close(block(x, mask)[1], block(x[1:])[0])


@every_block
def test_gradient_reaches_every_parameter(name):
    block = seeded(BLOCKS[name]())
    block(draw(2, 6, IN)).square().sum().backward()
    assert all((parameter.grad != 0).any() for parameter in block.parameters())


def test_kept_slots_read_new_points_as_the_old_ones():
    block, x = seeded(BLOCKS["ISAB"]()), draw(2, 7, IN)
    mask = torch.tensor([[True] * 7, [True] * 5 + [False] * 2])
    slots = block.gather(x, mask)
    assert slots.shape == (2, SLOTS, WIDTH)
    one_by_one = [block.read(x[:, i : i + 1], slots) for i in range(7)]
    torch.testing.assert_close(torch.cat(one_by_one, 1), block(x, mask))


def test_induced_attention_is_linear_in_the_number_of_points(monkeypatch):
    sizes = []

    def recording(queries, keys, *rest):
        sizes.append((queries.shape[1], keys.shape[1]))
        return attention(queries, keys, *rest)

    attention = set_blocks.attention
    monkeypatch.setattr(set_blocks, "attention", recording)
    seeded(BLOCKS["ISAB"]())(draw(1, 100, IN))
    assert sizes == [(SLOTS, 100), (100, SLOTS)]


def test_growing_seeds_are_equation_10():
    pool, x = seeded(AdaptivePMA(IN, WIDTH, HEADS)), draw(2, 6, IN)
    seeds = [pool.first[0, 0]]
    for _ in range(3):
        known = torch.stack(seeds)[None]
        seeds.append(pool.grow(known)[0, 0])
    torch.testing.assert_close(pool.seeds(4)[0], torch.stack(seeds))
    assert len({tuple(seed.tolist()) for seed in seeds}) == 4
    expected = pool.block(torch.stack(seeds).expand(2, -1, -1), x)
    torch.testing.assert_close(pool(x, 4), expected)


def test_fewer_seeds_are_the_first_of_more():
    pool, x = seeded(AdaptivePMA(IN, WIDTH, HEADS)), draw(2, 6, IN)
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    torch.testing.assert_close(pool(x, 2, mask), pool(x, 5, mask)[:, :2])
    assert pool(x, 1, mask).shape == (2, 1, WIDTH)


def test_an_anchor_block_is_attention_to_a_single_element():
    """DAC, eq. 8: MAB(X, h_a), for each anchor alone."""
    block = seeded(AnchorBlock(IN, 5, WIDTH, HEADS)).double()
    plain = MAB(IN, 5, WIDTH, HEADS).double()
    plain.load_state_dict(block.state_dict())
    x, anchors = draw(2, 6, IN), draw(2, 3, 5, seed=1)
    found = block(x, anchors)
    assert found.shape == (2, 3, 6, WIDTH)
    for number in range(3):
        assert torch.allclose(found[:, number], plain(x, anchors[:, number : number + 1]))
    extra = draw(2, 3, 6, WIDTH, seed=2)
    assert not torch.allclose(block(x, anchors, extra), found)
    assert torch.allclose(block(x, anchors, torch.zeros_like(extra)), found)


def test_groups_are_pooled_as_sets_of_their_own():
    torch.manual_seed(0)
    pool = PMA(3, 8, 2, 4).double()
    points = torch.randn(2, 6, 3, dtype=torch.float64)
    groups = torch.rand(2, 5, 6) < 0.5
    groups[:, :, 0] |= ~groups.any(2)
    pooled = pool.of_groups(points, groups)
    assert pooled.shape == (2, 5, 4, 8)
    for number in range(5):
        torch.testing.assert_close(pooled[:, number], pool(points, groups[:, number]))
    empty = pool.of_groups(points, torch.zeros(2, 1, 6, dtype=torch.bool))
    assert empty.isfinite().all()
