"""What a fit leaves behind for new rows: immutable, picklable, and all that prediction needs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from coterie.frames.protocol import Frame, FramedTable
from coterie.inference.assignment import CHUNK_SIZE, apply, apply_labels, chunks
from coterie.inference.result import own_probability
from coterie.inference.rules.generative import draw, has_density, log_joint
from coterie.inference.rules.protocol import Rule
from coterie.inference.rules.shipping import placed, slimmed
from coterie.inference.screen import Screen


class Confident(NamedTuple):
    """The clusters of rows: labels (n,), and the probability of each (n,), zero for noise."""

    labels: NDArray[np.intp]
    confidence: NDArray[np.float32]


@dataclass(frozen=True)
class Fitted:
    """A fitted frame and the rule of the clusters: they label any rows, chunk by chunk.

    noise: whether rows that no cluster claims are labelled -1.
    """

    frame: Frame
    rule: Rule
    noise: bool = False

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.rule.n_clusters

    def points(self, table: NDArray) -> FramedTable:
        """A table (n, d) as the network reads it."""
        return FramedTable(table, self.frame)

    def predict(self, table: NDArray) -> NDArray[np.intp]:
        """The cluster of each row of a table (n, d)."""
        if self._screen is None:
            return apply_labels(self.rule, self.points(table), noise=self.noise)
        labels, clear = self._screen(table)
        for rows in self._unclear(clear):
            labels[rows] = apply_labels(self.rule, self.points(np.ascontiguousarray(table[rows])))
        return labels

    def assign(self, table: NDArray) -> Confident:
        """The cluster of each row of a table (n, d), and how probable it is."""
        if self._screen is None:
            clear = np.zeros(len(table), dtype=bool)
            labels, confidence = np.empty(len(table), np.intp), np.empty(len(table), np.float32)
        else:
            labels, confidence, clear = self._screen.assign(table)
        for rows in self._unclear(clear):
            points = self.points(np.ascontiguousarray(table[rows]))
            found = apply(self.rule, points, noise=self.noise)
            labels[rows], confidence[rows] = found.labels, own_probability(*found)
        return Confident(labels, confidence)

    @staticmethod
    def _unclear(clear: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
        """The rows that are not clear (n,), chunk by chunk."""
        left = np.flatnonzero(~clear)
        return (left[rows] for rows in chunks(len(left), CHUNK_SIZE))

    @cached_property
    def _screen(self) -> Screen | None:
        on_cpu = self.rule.device.type == "cpu"
        return Screen.of(self.frame, self.rule) if on_cpu and not self.noise else None

    def predict_proba(self, table: NDArray) -> NDArray[np.float64]:
        """The probability of each cluster for each row of a table: (n, k)."""
        return apply(self.rule, self.points(table)).probabilities

    @property
    def has_density(self) -> bool:
        """Whether the clusters have a density."""
        return has_density(self.rule)

    def log_density(self, table: NDArray) -> NDArray[np.float64]:
        """The log-density of each row of a table (n, d), in the frame's coordinates: (n,)."""
        columns, points = min(table.shape[1], self.frame.width), self.points(table)
        found = np.empty(len(table))
        for start in range(0, len(table), CHUNK_SIZE):
            rows = slice(start, start + CHUNK_SIZE)
            seen = torch.from_numpy(points[rows]).to(self.rule.device)
            found[rows] = log_joint(self.rule, seen, columns).logsumexp(1).cpu().numpy()
        return found

    def sample(
        self, n: int, n_columns: int, cluster: int | None, seed: int
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Rows (n, d) of the clusters' densities and their labels (n,)."""
        rule, device = self.rule, self.rule.device
        if cluster is not None:
            rule = rule.select(torch.tensor([cluster], device=device))
        generator = Generator(device).manual_seed(seed)
        points, labels = draw(rule, n, min(n_columns, self.frame.width), generator)
        rows = self.frame.rows(points.cpu().numpy())
        return rows, labels.cpu().numpy() if cluster is None else np.full(n, cluster)

    def shipped(self, device: str = "cpu") -> "Fitted":
        """The same for prediction alone, on a device: without networks that no prediction needs."""
        rule = slimmed(self.rule, noise=self.noise)
        return replace(self, rule=placed(rule, device))
