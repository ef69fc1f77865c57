"""Fresh sets of each family of the universal prior: our models, their peers and a ceiling.

Sets are tables with standardised columns, the same for all methods. The peers' runs are stored and
reused, as in `tables`.
"""

from dataclasses import dataclass
from pathlib import Path

from bench.command import command
from bench.families_report import FamiliesReport
from bench.held_out import PRIOR, held_out_sets
from bench.race import Progress
from bench.supervised import ceiling
from bench.tables import SHIPPED, answer_all, our_entrants, peer_entrants

THREADS = (1,)


@dataclass(frozen=True)
class FamiliesPlan:
    """What is measured: n_sets of each family; the peers try up to k_limit clusters."""

    weights: tuple[str, ...] = SHIPPED
    n_sets: int = 40
    seed: int = 0
    k_limit: int = PRIOR.k_max

    @property
    def command(self) -> str:
        """The command line that repeats the measurement."""
        return command(
            "families",
            sets=self.n_sets,
            seed=self.seed,
            k_limit=self.k_limit,
            weights=self.weights,
        )


def run_families(
    plan: FamiliesPlan,
    ledger: Path,
    *,
    resume: bool = False,
    fresh: bool = False,
    progress: Progress | None = None,
) -> FamiliesReport:
    """Run all methods on all sets, except for runs already in the ledger (`answer_all`)."""
    suite = held_out_sets(plan.n_sets, plan.seed)
    answered = answer_all(
        suite,
        our_entrants(plan.weights),
        peer_entrants(plan.k_limit),
        THREADS,
        ledger,
        resume=resume,
        fresh=fresh,
        progress=progress,
    )
    return FamiliesReport(
        plan.command,
        answered.date,
        answered.machine,
        PRIOR.k_max,
        suite,
        answered.rows,
        tuple(ceiling(given) for given in suite),
    )
