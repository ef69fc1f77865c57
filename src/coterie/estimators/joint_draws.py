"""Estimators of systems that draw whole partitions: the labels of all rows jointly."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from torch import Generator, Tensor

from coterie.data.batch import SetBatch
from coterie.estimators.amortized import AmortizedClusterer
from coterie.estimators.answers import count_rows, rows_and_draws
from coterie.frames.protocol import Frame, FramedTable
from coterie.weights.catalogue import open_model


class JointDraws(AmortizedClusterer):
    """A clusterer whose `sample_partitions` draws all labels jointly, so clusters come and go."""

    def sample_partitions(
        self, X: ArrayLike | None = None, n_samples: int = 10, *, random_state: Any = None
    ) -> NDArray[np.intp]:
        """Draw partitions of the rows of X (n, d), or of the fitted rows, n_samples times: (S, n).

        These are joint draws of all labels, so that whole clusters may come and go. Clusters of a
        draw are numbered in order of appearance; the numbers of two draws are unrelated. The model
        need not be fitted where X is given: its rows are a set of their own.
        """
        X, n_samples = rows_and_draws(X, n_samples)
        if X is None:
            points, rows = self._fitted_rows()
        else:
            points = self._as_set(X, n_samples)
            rows = np.arange(len(points))
        seed = check_random_state(random_state).randint(2**31 - 1)
        generator = torch.Generator(self.device).manual_seed(seed)
        batch = SetBatch.single(torch.from_numpy(points).to(self.device))
        labels = self._draw_partitions(batch, n_samples, generator).cpu().numpy()
        placed = np.empty_like(labels)
        placed[:, rows] = labels
        return placed

    def _draw_partitions(self, batch: SetBatch, n_samples: int, generator: Generator) -> Tensor:
        """Draws of the labels of a single set: (S, N)."""
        raise NotImplementedError

    def _require_time(self, n_rows: int, n_samples: int) -> None:
        """Refuse draws that would take too long."""

    def _fitted_rows(self) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """The fitted rows (n, D) as the network reads them, and which rows they are."""
        self._require_rows("sample_partitions")
        outcome = self._record.outcome
        if len(outcome.rows) != len(self.labels_) or len(np.unique(outcome.rows)) != len(
            outcome.rows
        ):
            raise ValueError(
                f"the clusters were found on {len(np.unique(outcome.rows)):,} of"
                f" {len(self.labels_):,} rows: give the rows to sample_partitions, as X"
            )
        return outcome.context, outcome.rows

    def _as_set(self, X: Any, n_samples: int) -> NDArray[np.float32]:
        """The rows of X as the network reads a set of its own: (n, D)."""
        self._require_time(count_rows(X), n_samples)
        reader = clone(self)
        table = reader._check(X, reset=True).table
        traits = self._card().traits
        if traits.reads_images:
            network, _ = open_model(self.weights, self.device)
            frame: Frame = reader._fit_images(network, table, traits)
        else:
            frame = reader._fit_frame(table, traits)
        return np.ascontiguousarray(FramedTable(table, frame)[np.arange(len(table))])
