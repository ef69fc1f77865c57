import numpy as np
import pytest

from coterie.inference.leftovers import smallest_kept


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [([20, 20, 20, 20, 1, 3], 10), ([6, 5, 6, 6, 1], 3), ([1], 0.5), ([60, 20, 20], 30)],
)
def test_small_clusters_are_leftovers_beside_large_ones_alone(sizes, kept):
    """Nine in ten points are in clusters of up to so many; half of that is the bound."""
    assert smallest_kept(np.array(sizes), 1000) == kept
    assert smallest_kept(np.array(sizes), 0.1) == 0.1
