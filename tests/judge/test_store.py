"""The judge's file: what is written is read, and other files are refused."""

from dataclasses import fields

import numpy as np
import pytest

from coterie.judge.forest import Forest
from coterie.judge.store import open_judge, save_judge
from coterie.weights.catalogue import find
from coterie.weights.format import WeightsError


def test_a_judge_is_read_as_it_was_written(tmp_path):
    judge = open_judge()
    save_judge(tmp_path / "judge.safetensors", judge, {"sets": 0})
    again = open_judge(tmp_path / "judge.safetensors")
    for each in fields(Forest):
        np.testing.assert_array_equal(
            getattr(again.forest, each.name), getattr(judge.forest, each.name)
        )
    assert again.temperature == judge.temperature


def test_weights_of_a_network_are_no_judge():
    with pytest.raises(WeightsError, match="holds no judge"):
        open_judge(find("amcp-mog2d"))


def test_expected_agreement_grows_with_the_score():
    judge = open_judge()
    expected = [judge.calibrated(score) for score in (0.0, 0.2, 0.5, 0.9, 1.0)]
    assert expected == sorted(expected)
    assert 0 < expected[0] < expected[-1] < 1
