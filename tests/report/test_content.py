import numpy as np

import coterie
from coterie.inference.result import Clustering, Step
from coterie.report import content as module
from coterie.report.content import Origin, gather


def clustering(labels, steps=()):
    k = labels.max() + 1
    return Clustering(labels, np.eye(k)[labels], None, steps)


def test_sizes_numbers_and_confidence_are_those_of_the_clustering(content, blobs):
    assert content.sizes.tolist() == [150, 100, 50]
    assert content.numbers.tolist() == list(range(1, 301))
    np.testing.assert_array_equal(content.shown, np.arange(300))
    expected = coterie.AMCP().fit(blobs.points).clustering_.confidence
    np.testing.assert_allclose(content.confidence, expected, atol=1e-12)


def test_details_are_found_by_row(content):
    assert content.detail("who", 17) == "point 17"


def test_of_many_points_those_of_the_context_are_shown(monkeypatch):
    monkeypatch.setattr(module, "MAX_SHOWN", 20)
    labels = np.zeros(100, dtype=np.intp)
    context = np.arange(0, 100, 5)
    step = Step(context, context, np.ones(20, dtype=np.float32))
    asked = []

    def describe(rows):
        asked.append(rows)
        return {"n": [str(row) for row in rows]}

    found = gather(
        clustering(labels, (step,)),
        np.random.default_rng(0).normal(size=(100, 2)),
        ("a", "b"),
        Origin("t", "c"),
        describe=describe,
    )
    np.testing.assert_array_equal(found.shown, context)
    assert len(asked) == 1
    assert len(asked[0]) < 40
    typical = int(found.profiles[0].typical[0])
    assert found.detail("n", typical) == str(typical)


def test_of_many_points_a_sample_is_shown_where_there_is_no_context(monkeypatch):
    monkeypatch.setattr(module, "MAX_SHOWN", 20)
    labels = np.zeros(100, dtype=np.intp)
    found = gather(clustering(labels), np.ones((100, 2)), ("a", "b"), Origin("t", "c"))
    assert len(found.shown) == len(found.plane.places) == 20
    assert (np.diff(found.shown) > 0).all()


def test_rows_of_a_sample_keep_their_numbers_and_sizes_are_of_all():
    labels = np.array([0, 0, 1])
    found = gather(
        clustering(labels),
        np.zeros((3, 2)),
        ("a", "b"),
        Origin("t", "c", first_row=1),
        numbers=np.array([4, 70, 90]),
        sizes=np.array([60, 40]),
    )
    assert found.numbers.tolist() == [5, 71, 91]
    assert found.sizes.tolist() == [60, 40]


def test_noise_is_counted_apart_and_not_uncertain(noisy):
    assert noisy.n_noise == 3
    assert noisy.total == 303
    assert noisy.sizes.sum() == 300
    assert (noisy.confidence[300:] == 0).all()
    assert (noisy.uncertain < 300).all()
    assert all((profile.typical < 300).all() for profile in noisy.profiles)
