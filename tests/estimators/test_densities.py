"""How likely rows are under the clusters found, and rows like theirs."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.mixture import GaussianMixture
from small import MAF

import coterie
from coterie.systems.dac.minimum_loss import DAC
from coterie.weights.format import make_card, save_system

GAUSSIAN = [("dac-mog2d", "auto"), ("dac-mog2d", "network"), ("amcp-mog2d", "auto")]
GAUSSIAN += [("amcp-mog2d", "network"), ("amcp-mog2d-wide", "em")]


@pytest.fixture(scope="module")
def flow_weights(tmp_path_factory):
    """A small network with flows, which has learnt nothing."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        system = DAC(MAF)
    path = tmp_path_factory.mktemp("flows") / "flow.safetensors"
    save_system(path, system, make_card(system))
    return str(path)


def model(weights: str, ending: str = "auto", **options):
    system = coterie.AMCP if weights.startswith("amcp") else coterie.DAC
    return system(weights, ending=ending, random_state=0, **options)


def integral(fitted, half: float = 15.0, n: int = 601) -> float:
    axis = np.linspace(-half, half, n)
    places = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    return float(np.exp(fitted.score_samples(places)).sum() * (axis[1] - axis[0]) ** 2)


@pytest.mark.parametrize(("weights", "ending"), GAUSSIAN)
def test_the_density_integrates_to_one(weights, ending, blobs):
    assert integral(model(weights, ending).fit(blobs.points)) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(("weights", "ending"), GAUSSIAN)
def test_the_mean_over_the_fitted_rows_is_the_log_likelihood(weights, ending, blobs):
    fitted = model(weights, ending).fit(blobs.points)
    mean = fitted.score_samples(blobs.points).mean()
    assert mean == pytest.approx(fitted.clustering_.log_likelihood, abs=1e-4)


@pytest.mark.parametrize("weights", ["dac-mog2d", "amcp-mog2d-wide"])
def test_gaussians_score_as_those_of_scikit_learn(weights, blobs):
    fitted = model(weights).fit(blobs.points)
    log_weight, mean, log_scale = (part.numpy() for part in fitted.fitted_.rule.mixture)
    theirs = GaussianMixture(len(mean), covariance_type="diag")
    theirs.weights_, theirs.means_ = np.exp(log_weight), mean
    theirs.covariances_ = np.exp(2 * log_scale)
    theirs.precisions_cholesky_ = np.exp(-log_scale)
    expected = theirs.score_samples(blobs.points)
    np.testing.assert_allclose(fitted.score_samples(blobs.points), expected, rtol=1e-5, atol=1e-5)


def test_flows_have_a_density_too(flow_weights, blobs):
    fitted = coterie.DAC(flow_weights).fit(blobs.points)
    assert integral(fitted, half=25.0) == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("ending", ["network", "consolidate"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_merged_and_divided_clusters_keep_the_density(ending, k, blobs):
    free = model("dac-mog2d", "network").fit(blobs.points)
    bound = model("dac-mog2d", ending, n_clusters=k).fit(blobs.points)
    assert integral(bound) == pytest.approx(1, abs=1e-3)
    if ending == "network":
        scores = bound.score_samples(blobs.points)
        np.testing.assert_allclose(scores, free.score_samples(blobs.points), rtol=1e-9)


@pytest.mark.parametrize(("weights", "ending"), GAUSSIAN)
def test_samples_of_a_cluster_are_like_its_rows(weights, ending, blobs):
    fitted = model(weights, ending).fit(blobs.points)
    for cluster in range(fitted.n_clusters_):
        rows, labels = fitted.sample(4000, cluster, random_state=0)
        own = blobs.points[fitted.labels_ == cluster]
        assert (labels == cluster).all()
        np.testing.assert_allclose(rows.mean(0), own.mean(0), atol=0.1)
        np.testing.assert_allclose(rows.std(0), own.std(0), rtol=0.25)


def test_samples_of_all_clusters_have_their_shares_and_labels(blobs):
    fitted = model("dac-mog2d").fit(blobs.points)
    rows, labels = fitted.sample(6000, random_state=1)
    assert rows.shape == (6000, 2)
    assert (np.diff(labels) >= 0).all()
    shares = np.bincount(labels) / 6000
    np.testing.assert_allclose(shares, np.bincount(fitted.labels_) / len(blobs.points), atol=0.03)
    assert (fitted.predict(rows) == labels).mean() > 0.99


@pytest.mark.parametrize("k", [2, 6])
def test_merged_and_divided_clusters_can_be_sampled(k, blobs):
    fitted = model("dac-mog2d", "network", n_clusters=k).fit(blobs.points)
    rows, labels = fitted.sample(3000, random_state=0)
    assert set(labels) == set(range(k))
    assert (fitted.predict(rows) == labels).mean() > 0.8  # a cut is soft
    for cluster in range(k):
        some, own = fitted.sample(200, cluster, random_state=0)
        assert some.shape == (200, 2)
        assert (own == cluster).all()


def test_flows_can_be_sampled(flow_weights, blobs):
    fitted = coterie.DAC(flow_weights).fit(blobs.points)
    rows, _ = fitted.sample(20_000, 0, random_state=0)
    alone = fitted.fitted_.rule.select(torch.tensor([0]))
    axis = np.linspace(-25, 25, 601)
    places = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    (density,) = alone.densities
    mass = density.log_prob(torch.from_numpy(places)[None])[0].exp().numpy()
    mean = (mass[:, None] * places).sum(0) / mass.sum()
    np.testing.assert_allclose(rows.mean(0), mean, atol=0.06)


def test_a_seed_determines_the_sample(blobs):
    fitted = model("amcp-mog2d").fit(blobs.points)
    first, again, other = (fitted.sample(20, random_state=seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("ending", ["network", "consolidate"])
def test_a_saved_model_scores_alike(ending, blobs, tmp_path):
    fitted = model("dac-mog2d", ending).fit(blobs.points)
    loaded = coterie.load(fitted.save(tmp_path / "model.coterie"))
    expected = fitted.score_samples(blobs.points)
    np.testing.assert_array_equal(loaded.score_samples(blobs.points), expected)
    np.testing.assert_array_equal(fitted.predictor().score_samples(blobs.points), expected)
    np.testing.assert_array_equal(
        loaded.sample(5, random_state=0)[0], fitted.sample(5, random_state=0)[0]
    )


def test_a_saved_flow_scores_alike(flow_weights, blobs, tmp_path):
    fitted = coterie.DAC(flow_weights).fit(blobs.points)
    loaded = coterie.load(fitted.save(tmp_path / "model.coterie"))
    np.testing.assert_array_equal(
        loaded.score_samples(blobs.points), fitted.score_samples(blobs.points)
    )


def test_fewer_columns_have_the_marginal_of_gaussians_alone(flow_weights, blobs):
    column = blobs.points[:, :1]
    axis = np.linspace(-15, 15, 3001)[:, None]
    for ending in ("network", "consolidate"):
        fitted = model("dac-mog2d", ending).fit(column)
        assert np.exp(fitted.score_samples(axis)).sum() * 0.01 == pytest.approx(1, abs=1e-3)
        assert fitted.sample(3, random_state=0)[0].shape == (3, 1)
    flows = coterie.DAC(flow_weights).fit(column)
    assert flows.clustering_.log_likelihood is None
    with pytest.raises(ValueError, match="has no marginal"):
        flows.score_samples(column)


def test_rows_of_projected_columns_are_not_known(blobs):
    wide = np.hstack([blobs.points, blobs.points[:, :1] ** 2])
    with pytest.warns(UserWarning, match="principal components"):
        fitted = model("dac-mog2d").fit(wide)
    assert fitted.score_samples(wide).shape == (len(wide),)
    with pytest.raises(ValueError, match="2 principal components of 3 columns"):
        fitted.sample(1)


@pytest.mark.parametrize("weights", ["amcp-warped2d", "amcp-universal"])
def test_models_without_a_density_say_so(weights, blobs):
    fitted = coterie.AMCP(weights, ending="network").fit(blobs.points)
    assert not hasattr(fitted, "score_samples")
    with pytest.raises(ValueError, match=f"needs clusters with a density.*{weights}"):
        fitted.sample(1)


def test_wrong_wishes_are_refused(blobs):
    fitted = model("amcp-mog2d").fit(blobs.points)
    for n_samples in (0, 2.5, "3", None, True):
        with pytest.raises(ValueError, match="n_samples must be an integer of 1 or more, got"):
            fitted.sample(n_samples)
    for cluster in (7, -1, 0.5, "0"):
        with pytest.raises(ValueError, match="cluster must be 0 to 2"):
            fitted.sample(1, cluster=cluster)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_categories_cannot_be_sampled(blobs):
    frame = pd.DataFrame({"a": blobs.points[:, 0], "kind": np.where(blobs.labels, "x", "y")})
    fitted = coterie.AMCP("amcp-mog2d", categorical=["kind"]).fit(frame)
    with pytest.raises(ValueError, match="rows with categories cannot be sampled"):
        fitted.sample(1)


@pytest.fixture(scope="module")
def described():
    """Three Gaussians that overlap, and the default model, whose answer is a mixture."""
    rng = np.random.default_rng(5)
    labels = rng.choice(3, 900, p=[0.5, 0.3, 0.2])
    factor = np.array([[[1, 0], [0.8, 0.5]], [[1, 0], [-0.5, 1]], [[0.4, 0], [0, 2]]])
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [8.0, 3.0]])
    rows = centres[labels] + np.einsum("nab,nb->na", factor[labels], rng.normal(size=(900, 2)))
    return coterie.AMCP().fit(100 * rows), 100 * rows


def test_a_mixture_that_describes_the_rows_has_a_density(described):
    fitted, rows = described
    assert fitted.n_clusters_ == 3
    assert fitted.score_samples(rows).mean() == pytest.approx(
        fitted.clustering_.log_likelihood, abs=1e-4
    )


def test_rows_drawn_from_it_are_like_those_fitted(described):
    fitted, rows = described
    drawn, labels = fitted.sample(4000, random_state=0)
    np.testing.assert_allclose(drawn.mean(0), rows.mean(0), atol=25)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(rows.T), rtol=0.15)
    assert (fitted.predict(drawn) == labels).mean() > 0.9
    own, _ = fitted.sample(100, cluster=1, random_state=0)
    assert (fitted.predict(own) == 1).mean() > 0.85
