import numpy as np

from bench.benchmark import run_benchmark
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
