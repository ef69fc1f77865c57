from dataclasses import replace

import pytest
import torch

from coterie.data.priors.mog import MixtureOfGaussians


def test_a_loss_that_knows_fewer_clusters_than_the_prior_draws_is_refused(recipe):
    with pytest.raises(ValueError, match="knows 3 clusters, the prior draws up to 7"):
        replace(recipe, prior=MixtureOfGaussians(n_max=20, k_max=7))


def test_partly_filtered_sets_are_smaller(recipe):
    whole = replace(recipe, partly_filtered=0.0).sample(torch.Generator().manual_seed(0))
    partly = replace(recipe, partly_filtered=1.0).sample(torch.Generator().manual_seed(0))
    assert torch.equal(whole.points, partly.points)
    assert partly.mask.sum() < whole.mask.sum()
    assert partly.mask.any(1).all()
