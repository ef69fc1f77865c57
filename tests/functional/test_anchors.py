import pytest
import torch

from coterie.data.batch import SetBatch
from coterie.data.episodes import drop_clusters
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.functional.anchors import (
    Anchors,
    best_anchor,
    draw_anchors,
    spread_anchors,
    uniform_anchors,
)

K = 4


def sets(n_sets: int, present: int) -> SetBatch:
    """Sets of 3 points for each of the first clusters, and two points of padding."""
    labels = torch.arange(present).repeat_interleave(3)
    labels = torch.cat([labels, torch.tensor([-1, -1])]).expand(n_sets, -1)
    return SetBatch(torch.zeros(*labels.shape, 2), labels >= 0, labels)


def mixtures(n_sets: int, seed: int = 0) -> SetBatch:
    """Sets of 60 to 200 points in one to four clusters of any size, with padding."""
    return MixtureOfGaussians(n_max=200, k_max=K).sample(
        n_sets, torch.Generator().manual_seed(seed)
    )


def strays(batch: SetBatch) -> torch.Tensor:
    return batch.mask & (batch.labels < 0)


def leave(batch: SetBatch, stray_points: float, probability: float = 1.0) -> SetBatch:
    generator = torch.Generator().manual_seed(0)
    return drop_clusters(batch, K, probability, generator, stray_points=stray_points)


def ask(batch: SetBatch, n_anchors: int = 8, seed: int = 0, **settings: float) -> Anchors:
    generator = torch.Generator().manual_seed(seed)
    return draw_anchors(batch.labels, batch.mask, n_anchors, K, generator, **settings)


def own_cluster(batch: SetBatch, anchors: Anchors) -> torch.Tensor:
    """(B, A, N) bool: the valid points that have the anchor's label."""
    label = batch.labels.gather(1, anchors.point)
    return batch.mask[:, None] & (batch.labels[:, None] == label[..., None])


def of_finished(batch: SetBatch, anchors: Anchors) -> torch.Tensor:
    """(B, A, N) bool: the valid points of clusters that were found before."""
    clusters = [anchors.finished[..., j, None] & (batch.labels == j)[:, None] for j in range(K)]
    return batch.mask[:, None] & torch.stack(clusters).any(0)


def test_questions_have_their_shapes():
    point, remaining, finished, target, judged = ask(mixtures(5), n_anchors=3)
    assert point.shape == judged.shape == (5, 3)
    assert remaining.shape == target.shape == (5, 3, 200)
    assert finished.shape == (5, 3, K)
    assert {part.dtype for part in (remaining, finished, target, judged)} == {torch.bool}


def test_an_anchor_is_a_point_that_remains_in_its_set():
    batch = mixtures(300)
    anchors = ask(batch)
    assert batch.mask.gather(1, anchors.point).all()
    assert anchors.remaining.gather(2, anchors.point[..., None]).all()


def test_padding_never_remains():
    batch = mixtures(300)
    for part in (ask(batch).remaining, ask(batch).target):
        assert not (part & ~batch.mask[:, None]).any()


def test_labels_under_the_mask_are_never_read():
    batch = mixtures(100)
    mislabelled = SetBatch(batch.points, batch.mask, torch.where(batch.mask, batch.labels, 0))
    for part, again in zip(ask(batch), ask(mislabelled), strict=True):
        assert torch.equal(part, again)


def test_the_answer_is_the_whole_cluster_of_the_anchor_or_nothing_for_a_stray():
    batch = mixtures(500)
    anchors = ask(batch, stray_anchors=0.3)
    own, is_stray = own_cluster(batch, anchors), ~anchors.target.any(2)
    assert 0.25 < is_stray.double().mean() < 0.35
    label = batch.labels.gather(1, anchors.point)[..., None]
    finished = anchors.finished.gather(2, label)[..., 0]
    assert torch.equal(finished, is_stray)  # what a stray is left over from was found before
    assert torch.equal(anchors.target, own & ~is_stray[..., None])
    assert not (anchors.target & ~anchors.remaining).any()
    assert torch.equal(anchors.judged, ~is_stray)  # the set says of a stray that it has a cluster


@pytest.mark.parametrize(("share", "strays"), [(0.0, False), (1.0, True)])
def test_strays_are_as_frequent_as_asked(share, strays):
    batch = mixtures(200)
    anchors = ask(batch, stray_anchors=share)
    has_others = own_cluster(batch, anchors).sum(2) > 1  # nothing was found of a lonely point
    is_stray = ~anchors.target.any(2)
    assert torch.equal(is_stray, has_others & strays)


def test_clusters_that_are_not_finished_are_whole_and_absent_ones_are_never_finished():
    batch = mixtures(500)
    anchors = ask(batch)
    gone = of_finished(batch, anchors)
    assert (anchors.remaining | gone | ~batch.mask[:, None]).all()
    present = torch.stack([(batch.labels == j).any(1) for j in range(K)], 1)
    assert not (anchors.finished & ~present[:, None]).any()


def test_finished_clusters_leave_few_points_behind():
    batch = mixtures(1000)
    anchors = ask(batch)
    own_anchor = torch.zeros_like(anchors.remaining).scatter(2, anchors.point[..., None], True)
    gone = of_finished(batch, anchors) & ~own_anchor
    behind = (gone & anchors.remaining).sum(2).double()
    size = gone.sum(2).double()
    assert behind.sum() / size.sum() == pytest.approx(0.025, abs=0.003)  # half of 5 % on average
    # No question leaves more than five standard deviations over the largest rate.
    assert (behind <= 0.05 * size + 5 * (0.05 * 0.95 * size).sqrt() + 1).all()


def test_without_stray_points_only_a_stray_anchor_is_left_of_a_finished_cluster():
    batch = mixtures(500)
    anchors = ask(batch, stray_points=0.0)
    left = (of_finished(batch, anchors) & anchors.remaining).sum(2)
    assert torch.equal(left, (~anchors.target.any(2)).long())


def test_everything_remains_in_a_third_of_the_questions():
    n_finished = ask(sets(4000, present=K), stray_anchors=0.0).finished.sum(2)
    # In the others three clusters stay by a coin whose bias is uniform: none goes in a quarter.
    whole = 1 / 3 + 2 / 3 / 4
    assert (n_finished == 0).double().mean() == pytest.approx(whole, abs=0.02)
    assert (n_finished == 3).double().mean() == pytest.approx(2 / 3 / 4, abs=0.02)


def test_small_clusters_are_asked_for():
    # One cluster of 2 points beside one of 198: half of the anchors come from the clusters first.
    labels = (torch.arange(200) < 2).long().expand(1000, -1)
    batch = SetBatch(torch.zeros(1000, 200, 2), torch.ones_like(labels).bool(), labels)
    asked = labels.gather(1, ask(batch).point).double().mean()
    assert asked == pytest.approx(0.5 * 0.5 + 0.5 * 0.01, abs=0.02)


def test_every_point_can_be_an_anchor():
    labels = torch.tensor([[0, 0, 0, 1, 2, 2, -1]]).expand(1000, -1)
    batch = SetBatch(torch.zeros(1000, 7, 2), labels >= 0, labels)
    times = torch.bincount(ask(batch).point.flatten(), minlength=7) / 8000
    expected = [1 / 6 / 2 + 1 / 3 / 2 / size for size in (3, 3, 3, 1, 2, 2)]
    assert times.tolist() == pytest.approx([*expected, 0.0], abs=0.02)


def test_points_without_a_cluster_remain_in_every_question():
    batch = leave(mixtures(300), 0.5)
    anchors = ask(batch)
    assert (anchors.remaining | ~strays(batch)[:, None]).all()
    assert not (anchors.target & strays(batch)[:, None]).any()
    assert not (anchors.remaining & ~batch.mask[:, None]).any()


def test_a_point_without_a_cluster_is_asked_for_in_vain_and_judged():
    batch = leave(mixtures(500), 0.5)
    anchors = ask(batch, stray_anchors=0.0)
    in_vain = strays(batch).gather(1, anchors.point)
    assert 0.01 < in_vain.double().mean() < 0.5
    assert torch.equal(in_vain, ~anchors.target.any(2))
    assert anchors.judged.all()  # the set itself tells that there is nothing to find
    finished = anchors.finished.any(2)
    assert finished[in_vain].any()
    assert not finished[in_vain].all()


def test_same_seed_same_questions():
    batch = mixtures(20)
    pairs = zip(ask(batch, seed=3), ask(batch, seed=3), ask(batch, seed=4), strict=True)
    for part, again, other in pairs:
        assert torch.equal(part, again)
        assert not torch.equal(part, other)


def test_questions_leave_the_global_random_state_alone():
    before = torch.random.get_rng_state()
    ask(mixtures(20))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_set_without_points_has_empty_questions():
    batch = mixtures(3)
    anchors = ask(batch.keep(torch.tensor([True, False, True])[:, None].expand(-1, 200)))
    for part in (anchors.remaining, anchors.finished, anchors.target):
        assert not part[1].any()
        assert part[0].any()


def test_a_set_without_points_has_nothing_to_judge():
    batch = mixtures(3)
    assert not ask(batch.keep(torch.zeros_like(batch.mask))).judged.any()


# Where the loop begins


def test_the_best_outlook_is_the_anchor_and_equal_ones_share():
    mask = torch.tensor([[True, True, False, True], [True] * 4, [False] * 4])
    outlook = torch.tensor([[-2.0, -1.0, 0.0, -1.0], [-3.0, -1.0, -2.0, -4.0], [0.0] * 4])
    weights = best_anchor(torch.where(mask, outlook, -torch.inf), mask)
    assert weights.tolist() == [[[0, 0.5, 0, 0.5]], [[0, 1, 0, 0]], [[0] * 4]]


def test_several_anchors_stand_evenly_in_the_order_of_their_outlook():
    outlook = -torch.randperm(12, generator=torch.Generator().manual_seed(0)).float()
    mask = outlook > -9  # nine points, of outlook 0 to -8
    weights = spread_anchors(torch.where(mask, outlook, -torch.inf)[None], mask[None], 3)
    assert weights.sum(2).tolist() == [[1, 1, 1]]
    assert (weights[0] @ outlook).tolist() == [-1, -4, -7]  # the middle of each third


def test_anchors_are_asked_twice_where_points_are_few():
    mask = torch.tensor([[False, True, False, True], [False] * 4])
    outlook = torch.where(mask, torch.tensor([0.0, -1.0, 0.0, -2.0]), -torch.inf)
    weights = spread_anchors(outlook, mask, 4)
    assert weights[0].argmax(1).tolist() == [1, 1, 3, 3]
    assert weights.sum(2).eq(1).all()


def test_strays_are_asked_for_as_often_as_a_cluster():
    labels = torch.tensor([0] * 300 + [1] * 300 + [-1] * 6).expand(400, -1)
    everywhere = torch.ones_like(labels, dtype=torch.bool)
    batch = SetBatch(torch.zeros(*labels.shape, 2), everywhere, labels)
    anchors = ask(batch)
    of_stray = labels.gather(1, anchors.point) < 0
    # Half of the anchors come from one of three groups, the others from 606 points.
    assert of_stray.float().mean() == pytest.approx(1 / 6 + 0.5 * 6 / 606, abs=0.02)
    assert not anchors.target[of_stray].any()
    assert anchors.judged[of_stray].all()


def test_uniform_anchors_are_valid_points_all_equally_likely():
    mask = torch.tensor([[True, False, True, True], [False, False, False, True]])
    drawn = uniform_anchors(mask, 3000, torch.Generator().manual_seed(0))
    assert drawn.shape == (2, 3000)
    assert set(drawn[1].tolist()) == {3}
    counts = torch.bincount(drawn[0], minlength=4)
    assert counts[1] == 0
    assert (counts[[0, 2, 3]] - 1000).abs().max() < 120
