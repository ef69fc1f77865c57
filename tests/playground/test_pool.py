"""The workers evaluate Python here, which pickles without a module of the tests."""

import asyncio
import gc
import time

import pytest

from coterie.playground.pool import Busy, Died, Pool, TooSlow

SLEEP = "__import__('time').sleep({})"
DIE = "__import__('os')._exit(3)"


def with_pool(use, *, workers=1, waiting=4, seconds=30.0):
    async def run():
        pool = Pool(gc.collect, eval, workers=workers, waiting=waiting, seconds=seconds)
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
            await pool.run(SLEEP.format(60))
        assert time.perf_counter() - start < 5
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
        pool._seconds = 0.2
        slow = asyncio.create_task(pool.run(SLEEP.format(60)))
        await asyncio.sleep(0.01)
        pool._seconds = 0.05
        with pytest.raises(Busy):
            await pool.run("1")
        with pytest.raises(TooSlow):
            await slow

    with_pool(use)


def test_what_nobody_wants_is_not_done():
    async def gone():
        return True

    assert with_pool(lambda pool: pool.run(DIE, gone)) is None


def test_two_workers_work_at_the_same_time():
    async def use(pool):
        await asyncio.gather(pool.run("1"), pool.run("1"))
        meet = "(__import__('time').sleep(0.5), __import__('time').time())[1]"
        start = time.time()
        return [end - start for end in await asyncio.gather(pool.run(meet), pool.run(meet))]

    assert max(with_pool(use, workers=2)) < 0.95


def test_who_gives_up_leaves_a_fresh_worker():
    async def use(pool):
        job = asyncio.create_task(pool.run(SLEEP.format(60)))
        await asyncio.sleep(0.1)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        return await pool.run("1 + 1")

    assert with_pool(use) == 2
