import math
import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, silhouette_score

from coterie.comparison import side_by_side
from coterie.comparison.methods import Answer, Method
from coterie.comparison.side_by_side import compare, silhouette


def method(name, labels, note=None):
    def cluster(points):
        if note is not None:
            warnings.warn(note, UserWarning, stacklevel=1)
        if isinstance(labels, str):
            raise ValueError(labels)
        return Answer(np.asarray(labels))

    return Method(name, "by hand", cluster)


POINTS = np.array([[0.0, 0], [0, 1], [9, 9], [9, 8], [5, 5]])
ONE, OTHER, LUMP = [0, 0, 1, 1, 2], [1, 1, 0, 0, 0], [0] * 5


def test_agreement_is_the_mean_ari_with_the_others():
    found = compare(POINTS, [method("a", ONE), method("b", OTHER), method("c", LUMP)])
    pairs = adjusted_rand_score(ONE, OTHER), adjusted_rand_score(ONE, LUMP)
    assert found.rows[0].agreement == pytest.approx(np.mean(pairs))
    assert found.agreement[0, 1] == found.agreement[1, 0] == pytest.approx(pairs[0])
    assert [row.n_clusters for row in found.rows] == [3, 2, 1]


def test_what_is_not_defined_is_none():
    (row,) = compare(POINTS, [method("c", LUMP)]).rows
    assert row.silhouette is row.dbi is row.agreement is row.ari is None


def test_the_truth_is_used_for_scores_alone():
    truth = np.array(list("aabbc"))
    perfect, coarse = compare(POINTS, [method("a", ONE), method("b", OTHER)], truth).rows
    assert (perfect.ari, perfect.nmi, perfect.acc) == pytest.approx((1, 1, 1))
    assert coarse.acc == pytest.approx(0.8)


def test_a_refusal_is_told_and_counts_in_no_mean():
    found = compare(POINTS, [method("a", ONE), method("no", "too  small"), method("b", OTHER)])
    assert found.rows[1].refusal == "too small"
    assert found.rows[1].agreement is None
    assert np.isnan(found.agreement[1]).all()
    assert found.rows[0].agreement == pytest.approx(adjusted_rand_score(ONE, OTHER))


def test_warnings_become_notes():
    (row,) = compare(POINTS, [method("a", ONE, note="mind the gap")]).rows
    assert row.notes == ("mind the gap",)


def test_the_silhouette_of_many_points_is_that_of_a_sample(monkeypatch, blobs):
    monkeypatch.setattr(side_by_side, "SILHOUETTE_POINTS", 100)
    whole = silhouette_score(blobs.points, blobs.labels)
    assert silhouette(blobs.points, blobs.labels) == pytest.approx(whole, abs=0.05)
    assert math.isnan(silhouette(blobs.points, np.arange(300)))


def test_progress_is_told():
    shares = []
    compare(POINTS, [method("a", ONE), method("b", OTHER)], progress=shares.append)
    assert shares == [0.5, 1.0]


def test_what_is_done_once_is_not_timed(monkeypatch):
    """A clock that the work itself moves: the first call takes long, in a process as in a test."""
    now = [0.0]
    monkeypatch.setattr(side_by_side.time, "perf_counter", lambda: now[0])
    loaded, shown = [], []

    def cluster(points):
        now[0] += 0.25 if loaded else 100.0
        loaded.append(True)
        shown.append(len(points))
        return Answer(np.zeros(len(points), dtype=int))

    points = np.random.default_rng(0).normal(size=(500, 2))
    first, second = compare(points, [Method(name, "", cluster) for name in "ab"]).rows
    assert (first.seconds, second.seconds) == (0.25, 0.25)
    assert shown[1::2] == [500, 500]
    assert max(shown[::2]) <= side_by_side.WARM_UP_POINTS
