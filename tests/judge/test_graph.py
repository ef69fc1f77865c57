import numpy as np
import scipy.sparse.linalg

import coterie.judge.graph
from coterie.judge.graph import RESTARTS, spectral_cuts


def test_pieces_are_found(blobs):
    (labels,) = spectral_cuts(blobs.points, [3])
    pairs = {(int(found), int(true)) for found, true in zip(labels, blobs.labels, strict=True)}
    assert len(pairs) == 3


def test_the_search_for_eigenvectors_ends_soon(monkeypatch):
    given = []

    def refuse(*_, maxiter, **__):
        given.append(maxiter)
        raise scipy.sparse.linalg.ArpackNoConvergence("no convergence", np.empty(0), np.empty(0))

    monkeypatch.setattr(coterie.judge.graph, "eigsh", refuse)
    assert spectral_cuts(np.random.default_rng(0).normal(size=(40, 2)), [2, 3]) == []
    assert given == [RESTARTS]
