"""Rows that are clear in single precision have the label and the confidence of the exact rule."""

import numpy as np
import pytest
import torch

from coterie.estimators.fitted import Fitted
from coterie.frames.plain import PlainColumns
from coterie.frames.standard import fit_standard
from coterie.inference.assignment import apply
from coterie.inference.result import own_probability
from coterie.inference.rules.full_mixture import FullMixtureRule
from coterie.inference.screen import Screen
from coterie.mixtures.gaussians import FullMixture

COLUMNS, CLUSTERS = 5, 4


def fitted(table, spread=0.3, width=8, *, proportional=False):
    """A mixture whose clusters overlap somewhat, in the frame of a table (n, d)."""
    draw = np.random.default_rng(1)
    frame = fit_standard(table, width)
    factors = spread * (np.eye(COLUMNS) + 0.3 * draw.normal(size=(CLUSTERS, COLUMNS, COLUMNS)))
    covariance = factors @ factors.transpose(0, 2, 1) + 0.01 * spread**2 * np.eye(COLUMNS)
    if proportional:
        covariance = covariance[0] * draw.uniform(0.5, 2, size=(CLUSTERS, 1, 1))
    mean = draw.normal(0, 0.5, size=(CLUSTERS, COLUMNS))
    log_weight = np.log(draw.dirichlet(np.ones(CLUSTERS)))
    return Fitted(frame, FullMixtureRule.of(FullMixture(log_weight, mean, covariance), "cpu"))


@pytest.fixture(scope="module")
def table():
    """Columns of very different units, with outliers that the frame clips."""
    draw = np.random.default_rng(0)
    scale, shift = 10.0 ** np.arange(-2, 3), 10.0 ** np.array([0, 3, -3, 5, 1])
    values = draw.normal(size=(20_000, COLUMNS)) * scale + shift
    values[::500] += 40 * scale
    return values


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [1.0, 0.3, 0.01])
@pytest.mark.parametrize("proportional", [False, True])
def test_labels_and_confidence_are_those_of_the_exact_rule(table, kind, spread, proportional):
    table = table.astype(kind)
    model = fitted(table, spread, proportional=proportional)
    exact = apply(model.rule, model.points(table))
    np.testing.assert_array_equal(model.predict(table), exact.labels)
    labels, confidence = model.assign(np.asfortranarray(table))
    np.testing.assert_array_equal(labels, exact.labels)
    np.testing.assert_array_equal(confidence, own_probability(*exact).astype(np.float32))


def test_most_rows_are_clear_and_those_in_doubt_are_not(table):
    model = fitted(table)
    screen = Screen.of(model.frame, model.rule)
    assert screen(table).clear.mean() > 0.9
    assert screen.assign(table).clear.mean() > 0.9
    margin = np.diff(np.sort(model.predict_proba(table), 1)[:, -2:])[:, 0]
    assert not screen(table).clear[margin < 1e-6].any()


@pytest.mark.parametrize("proportional", [False, True])
def test_what_is_clear_is_right_without_the_exact_rule(table, proportional):
    model = fitted(table, proportional=proportional)
    screen = Screen.of(model.frame, model.rule)
    exact = apply(model.rule, model.points(table))
    labels, confidence, clear = screen.assign(table)
    np.testing.assert_array_equal(labels[clear], exact.labels[clear])
    own = own_probability(*exact).astype(np.float32)
    np.testing.assert_array_equal(confidence[clear], own[clear])
    assert (confidence[clear] < 1).mean() > 0.1  # of those in doubt too
    labels, clear = screen(table)
    np.testing.assert_array_equal(labels[clear], exact.labels[clear])


def test_proportional_covariances_take_one_product_of_two_coordinates(table):
    for proportional, n_products in ((False, 21), (True, 7)):
        model = fitted(table, proportional=proportional)
        assert Screen.of(model.frame, model.rule).form.shape == (CLUSTERS, n_products)
    bent = model.rule.whitening.clone()
    bent[1, 0, 0] *= 1 + 1e-9
    rule = FullMixtureRule(model.rule.log_weight, model.rule.mean, bent)
    assert Screen.of(model.frame, rule).form.shape == (CLUSTERS, 21)


@pytest.mark.parametrize("proportional", [False, True])
def test_squares_are_within_their_bound(table, proportional):
    model = fitted(table, proportional=proportional)
    screen = Screen.of(model.frame, model.rule)
    points = torch.from_numpy(model.points(table)[:])
    joint = model.rule.log_probabilities(points) + model.rule.log_likelihood(points)[:, None]
    exact = -2 * (joint - model.rule.log_constant.max()).numpy().T
    for rows, squares, best, known in screen._blocks(table):
        bound = screen.square + screen.point**2 + 2 * screen.point * np.sqrt(exact[:, rows])
        assert (abs(squares - exact[:, rows]) <= bound)[:, known].all()
        np.testing.assert_array_equal(best, squares.min(0))


def test_clipped_and_missing_rows_are_left_to_the_exact_rule(table):
    model = fitted(table)
    screen = Screen.of(model.frame, model.rule)
    assert not screen(table[::500]).clear.any()
    assert not screen.assign(table[::500]).clear.any()
    gaps = table[1:10].copy()
    gaps[:, 2] = np.nan
    assert not screen(gaps).clear.any()
    assert not screen.assign(gaps).clear.any()


def test_chunks_do_not_matter(table):
    model = fitted(table)
    whole = model.assign(table)
    parts = [model.assign(part) for part in np.array_split(table, [1, 8, 1_000, 9_999])]
    for at in range(2):
        np.testing.assert_array_equal(whole[at], np.concatenate([part[at] for part in parts]))


def test_there_is_none_for_tiny_clusters_other_frames_or_noise(table):
    model = fitted(table, spread=1e-6)
    assert Screen.of(model.frame, model.rule) is None
    rule = fitted(table).rule
    assert Screen.of(PlainColumns(8), rule) is None
    assert Fitted(fit_standard(table, 8), rule, noise=True)._screen is None


def test_a_mixture_in_one_product_is_that_of_its_components(table):
    model = fitted(table)
    points = torch.from_numpy(model.points(table[:3_000])[:])
    rule = model.rule
    normals = [
        torch.distributions.MultivariateNormal(mean, scale_tril=torch.linalg.inv(whitening).tril())
        for mean, whitening in zip(rule.mean, rule.whitening, strict=True)
    ]
    seen = points[:, :COLUMNS].double()
    joint = torch.stack([normal.log_prob(seen) for normal in normals], 1) + rule.log_weight
    torch.testing.assert_close(rule.log_probabilities(points), joint.log_softmax(1))
    torch.testing.assert_close(rule.log_likelihood(points), joint.logsumexp(1))
