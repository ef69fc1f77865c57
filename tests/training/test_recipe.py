from dataclasses import replace

import pytest
import torch

from coterie.data.folder import read_folder
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


def test_a_recipe_that_starts_from_nothing_is_described_as_before_there_were_others(recipe):
    assert not {"start_from", "kept"} & recipe.describe().keys()
    described = replace(recipe, start_from="dac-mog2d", kept=0.5).describe()
    assert (described["start_from"], described["kept"]) == ("dac-mog2d", 0.5)
    assert "kept" not in replace(recipe, start_from="dac-mog2d").describe()


def test_on_tables_the_network_of_weights_comes_with_its_context_size(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1,u\n2,v\n3,v\n")
    prior = read_folder(tmp_path)
    fresh, taught = (
        preset("amcp-small").on_tables(prior, "own", weights) for weights in ("", "amcp-universal")
    )
    card = load_card(find("amcp-universal"))
    assert taught.settings == card.settings
    assert (fresh.context_size, taught.context_size) == (CONTEXT_SIZE, card.context_size)
