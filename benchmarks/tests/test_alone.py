import shutil

import pytest

from bench.alone import (
    CLEAN_LOOP,
    FIT,
    LOOP,
    MIXTURE,
    PEERS,
    RAW_FIT,
    REFERENCE,
    Entry,
    compare,
    contestants,
    time_alone,
)
from bench.mog import mog_setting
from bench.sets import draw_sets
from bench.timing import Spread
from coterie.estimators.dac import DAC
from coterie.metrics import ari
from coterie.weights.catalogue import find

SMALL = mog_setting(120, 3, k_limit=4)
CALLS = [FIT, RAW_FIT, LOOP, CLEAN_LOOP]


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    """The same network under another name."""
    return str(shutil.copy(find(REFERENCE), tmp_path_factory.mktemp("weights") / "a.safetensors"))


@pytest.fixture(scope="module")
def alone(twin):
    return time_alone(SMALL, [twin], device="cpu", n_sets=3, seed=0)


def test_everybody_is_timed_on_every_set(alone, twin):
    expected = [(name, call) for name in (twin, REFERENCE) for call in CALLS]
    expected += [(name, FIT) for name in PEERS]
    assert [(entry.name, entry.call) for entry in alone.entries] == expected
    assert (alone.setting, alone.n_sets) == ("(120, 3)", 3)
    for entry in alone.entries:
        assert entry.seconds.repeats == 3  # the warm-up is no timing
        assert 0 < entry.seconds.lower <= entry.seconds.median <= entry.seconds.upper


def test_the_same_network_gives_the_same_answers(alone):
    ours, reference = alone.entries[:4], alone.entries[4:8]
    assert [entry.ari for entry in ours] == [entry.ari for entry in reference]


def test_ratios_are_of_medians_of_the_same_run(alone):
    medians = {(entry.name, entry.call): entry.seconds.median for entry in alone.entries}
    for entry in alone.entries:
        same = medians.get((REFERENCE, entry.call))
        assert entry.times_reference == entry.seconds.median / same
        if entry.call in (FIT, RAW_FIT):
            assert entry.times_mixture == entry.seconds.median / medians[MIXTURE, FIT]
        else:
            assert entry.times_mixture is None


def test_without_peers_there_is_no_ratio_to_them():
    entry = Entry(REFERENCE, FIT, "", Spread(2.0, 1.0, 3.0, 5), 1.0, 0.0)
    (compared,) = compare([entry])
    assert (compared.times_mixture, compared.times_reference) == (None, 1.0)


def test_the_loop_answers_as_the_estimator_does():
    points = draw_sets(SMALL, 1, seed=1)[0].points
    answers = {
        each.call: each.answer(points).result.labels for each in contestants(REFERENCE, "cpu")
    }
    cleaned, raw = DAC().fit(points).labels_, DAC(ending="network").fit(points).labels_
    assert ari(cleaned, answers[FIT]) == ari(cleaned, answers[CLEAN_LOOP]) == 1.0
    assert ari(raw, answers[RAW_FIT]) == 1.0
    assert ari(raw, answers[LOOP]) > 0.9  # it may leave points over
