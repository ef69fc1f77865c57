from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import gmean

from coterie.data.folder import LEAST_SCALE, SETS_FOR_SCALE, read_folder
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.training.presets import preset
from coterie.weights.catalogue import find
from coterie.weights.format import CONTEXT_SIZE, load_card


def test_a_loss_that_knows_fewer_clusters_than_the_prior_draws_is_refused(recipe):
    with pytest.raises(ValueError, match="knows 3 clusters, the prior draws up to 7"):
        replace(recipe, prior=MixtureOfGaussians(n_max=20, k_max=7))


def test_partly_filtered_sets_are_smaller(recipe):
    whole = replace(recipe, partly_filtered=0.0).sample(torch.Generator().manual_seed(0))
    partly = replace(recipe, partly_filtered=1.0).sample(torch.Generator().manual_seed(0))
    assert torch.equal(whole.points, partly.points)
    assert partly.mask.sum() < whole.mask.sum()
    assert partly.mask.any(1).all()


def test_lost_clusters_leave_strays_where_the_recipe_says_so(recipe):
    clean, strays = (
        replace(recipe, partly_filtered=1.0, stray_points=share).sample(
            torch.Generator().manual_seed(0)
        )
        for share in (0.0, 1.0)
    )
    assert torch.equal(clean.mask, strays.labels >= 0)  # the clusters that stay are the same
    assert (strays.mask & (strays.labels < 0)).any()
    assert torch.equal(clean.labels[clean.mask], strays.labels[clean.mask])


def test_without_lost_clusters_there_are_no_strays(recipe):
    batch = replace(recipe, partly_filtered=0.0, stray_points=1.0).sample(
        torch.Generator().manual_seed(0)
    )
    assert torch.equal(batch.mask, batch.labels >= 0)


def test_weight_decay_is_described_where_there_is_some(recipe):
    """So that a run from before there was any can go on."""
    assert "weight_decay" not in recipe.describe()["training"]
    decaying = replace(recipe, training=replace(recipe.training, weight_decay=0.1))
    assert decaying.describe()["training"]["weight_decay"] == 0.1


def test_a_recipe_that_starts_from_nothing_is_described_as_before_there_were_others(recipe):
    assert not {"start_from", "kept"} & recipe.describe().keys()
    described = replace(recipe, start_from="dac-mog2d", kept=0.5).describe()
    assert (described["start_from"], described["kept"]) == ("dac-mog2d", 0.5)
    assert "kept" not in replace(recipe, start_from="dac-mog2d").describe()


@pytest.fixture
def corners(tmp_path):
    """Four clusters at the corners of a wide square, of any scale."""

    def draw(scale):
        folder = tmp_path / str(scale)
        folder.mkdir()
        random = np.random.default_rng(0)
        for number in range(2):
            labels = np.arange(200) % 4
            points = 50 * np.stack([labels % 2, labels // 2], 1)
            points = points + scale * random.normal(size=(200, 2)) * [1, 2]
            lines = [f"{x},{y},{label}" for (x, y), label in zip(points, labels, strict=True)]
            (folder / f"{number}.csv").write_text("\n".join(["x,y,label", *lines]))
        return replace(read_folder(folder), fewer_clusters=0.0)

    return draw


def test_the_scale_of_clusters_is_a_geometric_mean_over_clusters_and_axes(corners):
    prior = corners(2.0)
    drawn = prior.sample(SETS_FOR_SCALE, torch.Generator().manual_seed(0))
    spreads = []
    for points, labels in zip(drawn.points.double().numpy(), drawn.labels.numpy(), strict=True):
        for label in set(labels) - {-1}:
            spreads += [np.std(axis) for axis in points[labels == label].T]
    assert len(spreads) == SETS_FOR_SCALE * 4 * 2
    assert prior.cluster_scale() == pytest.approx(gmean(spreads), rel=1e-5)


def test_clusters_twice_as_wide_have_twice_the_scale(corners):
    # The square is so wide that its frame hardly depends on the clusters.
    narrow, wide = (corners(scale).cluster_scale() for scale in (0.5, 1.0))
    assert wide / narrow == pytest.approx(2, rel=0.02)
    # Half of the side of the square is about one unit of its frame.
    assert narrow == pytest.approx(np.sqrt(0.5 * 1.0) / 25, rel=0.1)


def test_on_tables_a_fresh_network_knows_the_scale_of_their_clusters(corners):
    prior = corners(1.0)
    for name in ("act_st-mog2d", "amcp-small", "dac-mog2d"):
        settings = preset(name).on_tables(prior, "own").settings
        assert settings["cluster_scale"] == prior.cluster_scale()
    taught = preset("dac-mog2d").on_tables(prior, "own", "dac-mog2d")
    assert taught.settings == load_card(find("dac-mog2d")).settings


def test_tables_of_equal_rows_have_the_least_scale(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,label\n" + "1,2,u\n" * 20 + "3,1,v\n" * 20)
    assert read_folder(tmp_path).cluster_scale() == LEAST_SCALE


def test_on_tables_the_frame_is_the_standard_one(corners):
    assert preset("dac-mog2d").frame == "plain"
    assert preset("dac-mog2d").on_tables(corners(1.0), "own").frame == "standard"


def test_on_tables_the_network_of_weights_comes_with_its_context_size(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1,u\n2,v\n3,v\n")
    prior = read_folder(tmp_path)
    fresh, taught = (
        preset("amcp-small").on_tables(prior, "own", weights) for weights in ("", "amcp-universal")
    )
    card = load_card(find("amcp-universal"))
    assert taught.settings == card.settings
    assert (fresh.context_size, taught.context_size) == (CONTEXT_SIZE, card.context_size)
