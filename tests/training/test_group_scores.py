import json

import numpy as np
import pytest
import torch

from coterie.data.pools import ImagePool
from coterie.systems.registry import build
from coterie.training.callbacks import Progress
from coterie.training.group_scores import GroupScores, mean_scores, score_groups

SETTINGS = {
    "filtering": "anchored",
    "density": None,
    "image": (1, 8, 8),
    "convolutions": (4,),
    "columns": 8,
    "width": 16,
    "heads": 2,
    "slots": 4,
    "encoder_blocks": 1,
    "decoder_blocks": 0,
    "read_width": 8,
    "comparison": True,
    "encode_once": True,
}


@pytest.fixture
def pool() -> ImagePool:
    """Two groups of two classes, which differ in brightness."""
    draw = np.random.default_rng(0)
    level = np.repeat([20, 200, 60, 120], 10)[:, None, None, None]
    images = np.clip(level + draw.normal(0, 5, (40, 1, 8, 8)), 0, 255).astype(np.uint8)
    counts, groups = np.full(4, 10), np.array([0, 0, 1, 1])
    return ImagePool(images, counts, tuple("abcd"), groups, ("first", "second"))


@pytest.fixture
def system():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build("dac", SETTINGS)


@pytest.mark.parametrize("own", [False, True])
def test_each_group_is_one_set(system, pool, own):
    scores = score_groups(system.eval(), pool, own_statistics=own)
    assert [(score.name, score.n_classes) for score in scores] == [("first", 2), ("second", 2)]
    assert all(0 <= score.acc <= 1 and 0 <= score.nmi <= 1 for score in scores)
    mean = mean_scores(scores)
    assert mean["acc"] == pytest.approx((scores[0].acc + scores[1].acc) / 2, abs=1e-4)


def test_scores_are_written_along_the_way_and_training_goes_on(system, pool, tmp_path):
    said = []
    watcher = GroupScores(tmp_path / "scores.jsonl", pool, every=3, say=said.append)
    system.train()
    before = {name: value.clone() for name, value in system.state_dict().items()}
    for step in range(1, 6):
        watcher.on_step(Progress(step, 5, torch.tensor(1.5), system, ()))
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [3, 5]
    assert all(set(line["own"]) == {"nmi", "acc", "k_error"} for line in lines)
    assert len(said) == 2
    assert system.training
    assert system.item_encoder.training
    assert all(torch.equal(value, before[name]) for name, value in system.state_dict().items())
