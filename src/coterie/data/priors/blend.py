"""A blend of two priors, each with a fixed share of every batch."""

from dataclasses import dataclass, field, replace

from torch import Generator
from torch.nn.functional import pad

from coterie.data.batch import SetBatch
from coterie.data.priors.tables import Tables, concatenated
from coterie.data.priors.universal import Universal


@dataclass(frozen=True)
class Blend:
    """The sets of the universal prior together with realistic tables.

    tables_share: the share of tables in a batch, rounded. `Universal` draws every family for every
    set and keeps one; here each part draws only its own sets.
    """

    universal: Universal = field(default_factory=Universal)
    tables: Tables = field(default_factory=Tables)
    tables_share: float = 0.5

    def __post_init__(self) -> None:
        for name in ("n_max", "k_max", "columns"):
            both = getattr(self.universal, name), getattr(self.tables, name)
            if both[0] != both[1]:
                raise ValueError(f"the parts of a blend differ in {name}: {both[0]} and {both[1]}")

    @property
    def n_max(self) -> int:
        """The largest number of points in a set."""
        return self.universal.n_max

    @property
    def k_max(self) -> int:
        """The largest number of clusters in a set."""
        return self.universal.k_max

    @property
    def columns(self) -> int:
        """The number of columns of the sets."""
        return self.universal.columns

    def sample(self, n_sets: int, generator: Generator) -> SetBatch:
        """A batch of labelled sets in the frame that the network reads."""
        return concatenated([prior.sample(n, generator) for prior, n in self._parts(n_sets) if n])

    def sample_tables(self, n_sets: int, generator: Generator) -> SetBatch:
        """The same sets as tables with standardised columns, padded to the widest of them."""
        drawn = [prior.sample_tables(n, generator) for prior, n in self._parts(n_sets) if n]
        widest = max(batch.points.shape[2] for batch in drawn)
        return concatenated(
            [
                replace(batch, points=pad(batch.points, (0, widest - batch.points.shape[2])))
                for batch in drawn
            ]
        )

    def _parts(self, n_sets: int) -> tuple[tuple[Universal | Tables, int], ...]:
        n_tables = round(self.tables_share * n_sets)
        return (self.universal, n_sets - n_tables), (self.tables, n_tables)
