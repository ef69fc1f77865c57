import numpy as np
import pytest

from bench.benchmark import Benchmark, run_benchmark
from bench.mog import mog_setting
from coterie.comparison.methods import Answer, Method

SMALL = (mog_setting(40, 2, k_limit=3), mog_setting(50, 3, k_limit=4))
ONE = Method("one cluster", "", lambda points: Answer(np.zeros(len(points), dtype=np.intp)))


def run(**changes):
    numbers = {"n_sets": 2, "n_peer_sets": 0, "seed": 5, **changes}
    return run_benchmark("mine", SMALL, [ONE], command="type this", **numbers)


def test_there_is_a_race_for_every_setting():
    report = run()
    assert [race.setting for race in report.races] == [*SMALL]
    assert [race.ours.n_sets for race in report.races] == [2, 2]
    assert [[each.name for each in race.ours.methods] for race in report.races] == [[ONE.name]] * 2
    assert (report.name, report.command, report.seed, report.printed) == (
        "mine",
        "type this",
        5,
        (),
    )


def test_peers_search_as_far_as_the_setting_says():
    for race in run(n_sets=1, n_peer_sets=1).races:
        details = [summary.details for summary in race.everybody.methods]
        assert sum(f"k = 1..{race.setting.k_limit}," in each for each in details) == 1


def test_everybody_reports_progress():
    told = []
    run(progress=lambda *news: told.append(news))
    assert told == [(setting.title, done, 2) for setting in SMALL for done in (1, 2)]


def test_settings_may_have_numbers_of_sets_of_their_own():
    assert [race.ours.n_sets for race in run(n_sets=[2, 1]).races] == [2, 1]
    with pytest.raises(ValueError, match="3 numbers of sets for 2 settings"):
        run(n_sets=[1, 2, 3])


def test_a_benchmark_can_be_resumed(tmp_path):
    mine = Benchmark("mine", SMALL[:1], ("dac-mog2d",))
    ledger = tmp_path / "mine.jsonl"
    first = mine.run(1, 0, ledger=ledger)
    again = mine.run(2, 0, ledger=ledger, resume=True)
    assert len(ledger.read_text().splitlines()) == 2 * len(first.races[0].ours.methods)
    seconds = [report.races[0].ours.methods[0].seconds_mean for report in (first, again)]
    assert mine.run(1, 0, ledger=ledger, resume=True).races[0].ours.methods[0].seconds_mean in (
        seconds
    )
