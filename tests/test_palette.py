from itertools import combinations

import numpy as np

from coterie.palette import N_SHAPES, PALETTE, colour_of, shape_of

# What the colours become for people without red, green or blue cones (Machado et al. 2009, in full
# strength, on linear RGB).
BLINDNESS = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def linear(colour):
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def test_the_colour_blind_can_tell_the_colours_apart():
    for matrix in ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], *BLINDNESS.values()):
        seen = [np.clip(np.array(matrix) @ linear(colour), 0, 1) ** (1 / 2.2) for colour in PALETTE]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 0.12


def test_noise_is_grey():
    assert colour_of(-1) not in PALETTE
    red, green, blue = linear(colour_of(-1))
    assert max(red, green, blue) - min(red, green, blue) < 0.1
    assert 0 <= shape_of(-1) < N_SHAPES


def test_clusters_differ_in_colour_or_shape():
    looks = {(colour_of(cluster), shape_of(cluster)) for cluster in range(len(PALETTE) * N_SHAPES)}
    assert len(looks) == len(PALETTE) * N_SHAPES
