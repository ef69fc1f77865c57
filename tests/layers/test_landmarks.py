import pytest
import torch
from torch.nn.functional import layer_norm

from coterie.layers.landmarks import CARRIED_A_SCALE, LandmarkMixing

SETS, POINTS, LANDMARKS, WIDTH, HEADS, SCALES = 2, 7, 5, 8, 2, 3
THERE = torch.tensor([[True] * 5, [True, False, True, True, False]])


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def block():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return LandmarkMixing(WIDTH, HEADS, SCALES).double()


@pytest.fixture
def points():
    return draw(SETS, POINTS, WIDTH, seed=1)


@pytest.fixture
def landmarks():
    return draw(SETS, LANDMARKS, WIDTH, seed=2)


@pytest.fixture
def ends():
    """Walks lead to landmarks that are there, and from these alone."""
    scores = 2 * draw(SETS, SCALES, LANDMARKS, LANDMARKS, seed=3)
    both = THERE[:, None, :, None] & THERE[:, None, None, :]
    return scores.masked_fill(~THERE[:, None, None, :], -torch.inf).softmax(-1) * both


@pytest.fixture
def near():
    scores = draw(SETS, POINTS, LANDMARKS, seed=4)
    return scores.masked_fill(~THERE[:, None, :], -torch.inf).softmax(-1)


def mix(block, points, landmarks, there, ends, near):
    return block.read(points, block.gather(landmarks, there, ends), near)


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def normed(norm, row):
    return layer_norm(row, row.shape, norm.weight, norm.bias, norm.eps)


def attended(query, keys, values):
    """One query among the landmarks that are there, head by head.

    The last channel of a head is no part of the score, but it still counts in its scale.
    """
    size, out = WIDTH // HEADS, []
    for first in range(0, WIDTH, size):
        scored = slice(first, first + size - 1)
        scores = torch.stack([key[scored] @ query[scored] / size**0.5 for key in keys])
        weights = scores.exp() / scores.exp().sum()
        out.append(sum(w * v[first : first + size] for w, v in zip(weights, values, strict=True)))
    return torch.cat(out)


def arrivals(messages, walks, near):
    """What walks of each length carry to the landmarks, and these to one point."""
    out = []
    for scale, walk in enumerate(walks):
        sent = slice(scale * CARRIED_A_SCALE, (scale + 1) * CARRIED_A_SCALE)
        carried = torch.zeros(CARRIED_A_SCALE, dtype=torch.float64)
        for landmark, share in enumerate(near):
            for start, message in enumerate(messages):
                carried = carried + share * walk[landmark, start] * message[sent]
        out.append(carried)
    return torch.cat(out)


def by_loops(block, points, landmarks, there, ends, near):
    out = torch.empty_like(points)
    for b in range(len(points)):
        told = [block.tell(normed(block.norm_points, row)) for row in landmarks[b]]
        heard = [row for row, present in zip(told, there[b], strict=True) if present]
        for n, point in enumerate(points[b]):
            query = block.ask(normed(block.norm_points, point))
            seen = attended(
                query,
                [row[:WIDTH] for row in heard],
                [row[WIDTH : 2 * WIDTH] for row in heard],
            )
            carried = arrivals([row[2 * WIDTH :] for row in told], ends[b], near[b, n])
            changed = point + block.hear(torch.cat([seen, carried]))
            out[b, n] = changed + block.mlp(normed(block.norm_mlp, changed))
    return out


def test_agrees_with_loops(block, points, landmarks, ends, near):
    for there in (torch.ones_like(THERE), THERE):
        expected = by_loops(block, points, landmarks, there, ends, near)
        same(mix(block, points, landmarks, there, ends, near), expected)


def test_a_token_of_a_missing_landmark_may_be_anything(block, points, landmarks, ends, near):
    expected = mix(block, points, landmarks, THERE, ends, near)
    for strange in (0.0, 1e6, 50 * draw(SETS, LANDMARKS, WIDTH, seed=5)):
        changed = torch.where(THERE[..., None], landmarks, strange)
        same(mix(block, points, changed, THERE, ends, near), expected)


def test_a_set_with_missing_landmarks_is_one_without_them(block, points, landmarks, ends, near):
    kept = THERE[1].nonzero()[:, 0]
    fewer = mix(
        block,
        points[1:],
        landmarks[1:, kept],
        THERE[1:, kept],
        ends[1:][..., kept, :][..., kept],
        near[1:][..., kept],
    )
    same(mix(block, points, landmarks, THERE, ends, near)[1:], fewer)


def test_in_float32_a_missing_landmark_is_not_heard_at_all(block, points, landmarks, ends, near):
    block.float()
    x, tokens, walks, share = (each.float() for each in (points, landmarks, ends, near))
    changed = torch.where(THERE[..., None], tokens, -tokens + 3)
    assert torch.equal(
        mix(block, x, tokens, THERE, walks, share), mix(block, x, changed, THERE, walks, share)
    )


def test_the_order_of_landmarks_does_not_matter(block, points, landmarks, ends, near):
    order = torch.randperm(LANDMARKS, generator=torch.Generator().manual_seed(6))
    assert not torch.equal(order, torch.arange(LANDMARKS))
    permuted = mix(
        block,
        points,
        landmarks[:, order],
        THERE[:, order],
        ends[:, :, order][..., order],
        near[..., order],
    )
    same(permuted, mix(block, points, landmarks, THERE, ends, near))


def test_walks_lead_from_the_second_axis_to_the_first(block, points, landmarks, ends, near):
    turned = mix(block, points, landmarks, THERE, ends.mT, near)
    assert not torch.allclose(turned, mix(block, points, landmarks, THERE, ends, near))


def test_companions_do_not_matter(block, points, landmarks, ends, near):
    together = mix(block, points, landmarks, THERE, ends, near)
    for one in (slice(0, 1), slice(1, 2)):
        alone = mix(block, points[one], landmarks[one], THERE[one], ends[one], near[one])
        same(alone, together[one])


@pytest.mark.parametrize("size", [1, 3, 6])
def test_reading_is_pointwise(block, points, landmarks, ends, near, size):
    slots = block.gather(landmarks, THERE, ends)
    chunks = [
        block.read(x, slots, share)
        for x, share in zip(points.split(size, 1), near.split(size, 1), strict=True)
    ]
    same(torch.cat(chunks, 1), block.read(points, slots, near))


def test_gradients_reach_all_parameters(block, points, landmarks, ends, near):
    mix(block, points, landmarks, THERE, ends, near).square().sum().backward()
    for name, parameter in block.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_no_gradient_reaches_a_missing_landmark(block, points, landmarks, ends, near):
    landmarks.requires_grad_()
    mix(block, points, landmarks, THERE, ends, near).square().sum().backward()
    assert (landmarks.grad[~THERE] == 0).all()
    assert (landmarks.grad[THERE].abs().sum(-1) > 0).all()


def test_gradient_is_exact():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        block = LandmarkMixing(4, 2, 1).double()
    there = torch.tensor([[True, True, False]])
    walks, near = draw(1, 1, 3, 3, seed=3).softmax(-1), draw(1, 2, 3, seed=4).softmax(-1)
    leaves = [draw(1, 2, 4, seed=1), draw(1, 3, 4, seed=2), walks, near]
    assert torch.autograd.gradcheck(
        lambda x, tokens, walks, near: mix(block, x, tokens, there, walks, near),
        [leaf.requires_grad_() for leaf in leaves],
    )


def test_the_flags_are_no_part_of_the_weights(block):
    assert "is_flag" not in block.state_dict()
    assert block.is_flag.nonzero()[:, 0].tolist() == [3, 7]
