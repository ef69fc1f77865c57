"""The workers evaluate Python here, which pickles without a module of the tests."""

import asyncio
import gc
import time
from functools import partial

import pytest

from coterie.playground.pool import Busy, Died, Pool, TooSlow, Worker

SLEEP = "__import__('time').sleep({})"
DIE = "__import__('os')._exit(3)"


def with_pool(use, *, workers=1, waiting=4, seconds=30.0, warm_up=gc.collect):
    async def run():
        pool = Pool(warm_up, eval, workers=workers, waiting=waiting, seconds=seconds)
        try:
            await pool.run("None")  # the first job pays for the start
            return await use(pool)
        finally:
            pool.close()

    return asyncio.run(run())


def test_jobs_are_done():
    assert with_pool(lambda pool: pool.run("6 * 7")) == 42


def test_a_slow_job_is_stopped_and_the_next_one_is_done():
    async def use(pool):
        pool._seconds = 0.3
        start = time.perf_counter()
        with pytest.raises(TooSlow):
            await pool.run(SLEEP.format(600))
        assert time.perf_counter() - start < 300
        pool._seconds = 30
        return await pool.run("1 + 1")

    assert with_pool(use) == 2


def test_a_worker_that_dies_is_replaced():
    async def use(pool):
        with pytest.raises(Died):
            await pool.run(DIE)
        return await pool.run("1 + 1")

    assert with_pool(use) == 2


def test_who_finds_no_place_to_wait_is_sent_away():
    async def use(pool):
        jobs = [pool.run(SLEEP.format(0.3)) for _ in range(4)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    answers = with_pool(use, waiting=1)
    assert [type(answer) for answer in answers] == [type(None), type(None), Busy, Busy]


def test_waiting_has_an_end():
    async def use(pool):
        slow = asyncio.create_task(pool.run(SLEEP.format(60)))
        await asyncio.sleep(0)  # it takes the only worker, for as long as it likes
        pool._seconds = 0.05
        with pytest.raises(Busy):
            await pool.run("1")
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow

    with_pool(use)


def test_what_nobody_wants_is_not_done():
    async def gone():
        return True

    assert with_pool(lambda pool: pool.run(DIE, gone)) is None


def test_two_workers_work_at_the_same_time(tmp_path):
    """Each says that it is there, and waits for the other."""
    meet = (
        "(open({here!r}, 'w').close(), "
        "[__import__('time').sleep(0.01) for _ in iter(lambda: __import__('os').path.exists"
        "({there!r}), True)])"
    )
    one, other = str(tmp_path / "one"), str(tmp_path / "other")

    async def use(pool):
        await asyncio.gather(
            pool.run(meet.format(here=one, there=other)),
            pool.run(meet.format(here=other, there=one)),
        )
        return True

    assert with_pool(use, workers=2)


def test_who_gives_up_leaves_a_fresh_worker():
    async def use(pool):
        job = asyncio.create_task(pool.run(SLEEP.format(60)))
        await asyncio.sleep(0.1)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        return await pool.run("1 + 1")

    assert with_pool(use) == 2


def test_who_still_waits_for_a_stopped_worker_waits_for_no_other():
    """With the pipe closed, its descriptor could be that of another worker a moment later."""
    worker = Worker(gc.collect, eval)
    descriptor = worker._connection.fileno()
    worker.stop()
    assert worker._connection.fileno() == descriptor
    with pytest.raises(Died):
        worker.ask("1", 30)


def test_nobody_waits_for_a_worker_that_takes_long_to_start(tmp_path):
    """After the first start; who finds all others busy is told so in time."""
    slow = tmp_path / "slow"
    start = f"__import__('time').sleep(60 * __import__('os').path.exists({str(slow)!r}))"

    async def use(pool):
        slow.touch()
        with pytest.raises(Died):
            await pool.run(DIE)
        pool._seconds = 0.1
        with pytest.raises(Busy):
            await pool.run("1")

    with_pool(use, warm_up=partial(eval, start))


def test_a_worker_that_does_not_start_is_started_again(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.playground.pool.RESTART_SECONDS", 0.01)
    tried = tmp_path / "tried"
    start = (
        f"__import__('os')._exit(3) if not __import__('os').path.exists({str(tried)!r})"
        f" and not open({str(tried)!r}, 'w').close() else None"
    )
    assert with_pool(lambda pool: pool.run("6 * 7"), warm_up=partial(eval, start)) == 42
