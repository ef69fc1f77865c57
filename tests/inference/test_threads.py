import threading

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

import coterie
from coterie.inference import engine
from coterie.inference.threads import SMALL, one_thread_if_small, side_by_side


@pytest.fixture
def several():
    """As on a machine with several cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def of_blas():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_small_sets_have_one_thread_and_large_ones_all(several):
    before = of_blas()
    with one_thread_if_small(SMALL):
        assert torch.get_num_threads() == 1
        assert set(of_blas()) <= {1}
    with one_thread_if_small(SMALL + 1):
        assert torch.get_num_threads() == 3
    assert torch.get_num_threads() == 3
    assert of_blas() == before


def test_an_error_restores_them(several):
    with pytest.raises(RuntimeError), one_thread_if_small(1):
        raise RuntimeError
    assert torch.get_num_threads() == 3


def test_whoever_ends_last_restores_them(several):
    before = of_blas()
    inside, leave = threading.Barrier(2), threading.Event()
    seen = []

    def other():
        with one_thread_if_small(1):
            inside.wait()
            leave.wait()
        seen.append(torch.get_num_threads())

    thread = threading.Thread(target=other)
    with one_thread_if_small(1):
        thread.start()
        inside.wait()
    assert torch.get_num_threads() == 3
    leave.set()
    thread.join()
    assert seen == [3]
    assert torch.get_num_threads() == 3
    assert of_blas() == before


def test_a_fit_of_a_small_set_uses_one(several, monkeypatch, blobs):
    used = []
    answer = engine.answer_for

    def noted(*given):
        used.append(torch.get_num_threads())
        return answer(*given)

    monkeypatch.setattr(engine, "answer_for", noted)
    coterie.AMCP("amcp-mog2d").fit(np.asarray(blobs.points))
    assert used == [1]
    assert torch.get_num_threads() == 3


def test_small_sets_go_side_by_side_with_a_thread_each(several):
    together, before = threading.Barrier(2), of_blas()

    def seen(name, number):
        with one_thread_if_small(SMALL):
            together.wait(timeout=60)  # would break if one came after the other
            return name, number, torch.get_num_threads(), set(of_blas()) <= {1}

    found = side_by_side(SMALL, seen, "ab", [1, 2])
    assert found == [("a", 1, 1, True), ("b", 2, 1, True)]
    assert torch.get_num_threads() == 3
    assert of_blas() == before


def test_large_sets_and_those_of_a_single_thread_take_turns(several):
    here = threading.get_ident()
    assert side_by_side(SMALL + 1, lambda _: threading.get_ident(), "ab") == [here, here]
    torch.set_num_threads(1)
    assert side_by_side(SMALL, lambda _: threading.get_ident(), "ab") == [here, here]


@pytest.mark.filterwarnings("ignore:samples of the rows have different clusters")
def test_samples_that_are_asked_side_by_side_say_the_same(several):
    rows = np.random.default_rng(0).normal(size=(3_000, 5)) + np.arange(3_000)[:, None] % 4
    together = coterie.AMCP(context_size=500).fit(rows)
    torch.set_num_threads(1)
    alone = coterie.AMCP(context_size=500).fit(rows)
    np.testing.assert_array_equal(together.labels_, alone.labels_)
    assert together.stability_ == alone.stability_
