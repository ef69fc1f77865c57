"""The shipped ACT-ST finds clusters like those of its training, and no more of them."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie.data.priors.mog import MixtureOfGaussians
from coterie.estimators.act_st import ACTST
from coterie.functional.em import expectation
from coterie.inference.loop import find_labels
from coterie.metrics import ari, k_error
from coterie.weights.catalogue import open_model

EVERY_ENDING = pytest.mark.parametrize("ending", ["consolidate", "em", "network"])


@pytest.mark.filterwarnings("ignore:the network reads 2 columns:UserWarning")
@parametrize_with_checks([ACTST()])
@pytest.mark.filterwarnings("ignore:the data look unlike:UserWarning")
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@EVERY_ENDING
def test_finds_the_blobs(blobs, ending):
    model = ACTST(ending=ending).fit(blobs.points)
    assert np.bincount(model.labels_).tolist() == [150, 100, 50]
    assert ari(blobs.labels, model.labels_) == 1
    assert model.predict([[-4.0, -2.0], [4.0, -2.0], [0.0, 5.0]]).tolist() == [0, 1, 2]


class Scores(NamedTuple):
    """Means over some sets, of the network alone and of the true mixture."""

    ari: float
    k_mae: float
    oracle: float


def scores(n_max: int, k_max: int) -> Scores:
    draw = MixtureOfGaussians(n_max, k_max).draw(40, torch.Generator().manual_seed(0))
    points, mask, labels = draw.batch.points, draw.batch.mask, draw.batch.labels
    found = find_labels(open_model("act_st-mog2d")[0], draw.batch)
    best = expectation(points, draw.mixture)[0].argmax(-1)
    sets = [
        tuple(each[inside].numpy() for each in answers)
        for *answers, inside in zip(labels, found, best, mask, strict=True)
    ]
    return Scores(
        float(np.mean([ari(true, own) for true, own, _ in sets])),
        float(np.mean([k_error(true, own) for true, own, _ in sets])),
        float(np.mean([ari(true, oracle) for true, _, oracle in sets])),
    )


def test_the_network_knows_sets_like_those_of_its_training():
    known = scores(1000, 4)
    assert known.ari > 0.97
    assert known.ari > known.oracle - 0.02
    assert known.k_mae < 0.06


def test_more_clusters_than_in_training_are_beyond_it():
    beyond = scores(1000, 12)
    assert beyond.oracle > 0.95
    assert beyond.ari < 0.85  # the paper has 0.78: whoever improves on it should say so
    assert beyond.k_mae > 1
