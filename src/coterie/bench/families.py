"""Fresh sets of each family of the universal prior: our models, their peers and a ceiling.

Sets are tables with standardised columns, and everybody gets them so. The peers' runs are used
again, as those of `tables`.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

from coterie.bench.families_report import FamiliesReport
from coterie.bench.held_out import PRIOR, held_out_sets
from coterie.bench.race import Progress
from coterie.bench.supervised import ceiling
from coterie.bench.tables import SHIPPED, answer_all, our_entrants, peer_entrants

THREADS = (1,)


@dataclass(frozen=True)
class Plan:
    """What is measured: n_sets of each family; k_limit is what the peers search."""

    weights: tuple[str, ...] = SHIPPED
    n_sets: int = 40
    seed: int = 0
    k_limit: int = PRIOR.k_max

    @property
    def command(self) -> str:
        """What to type to measure the same again."""
        named = " ".join(f"--weights {shlex.quote(name)}" for name in self.weights)
        numbers = f"--sets {self.n_sets} --seed {self.seed} --k-limit {self.k_limit}"
        return f"coterie bench families {numbers} {named}"


def run_families(
    plan: Plan,
    ledger: Path,
    *,
    resume: bool = False,
    fresh: bool = False,
    progress: Progress | None = None,
) -> FamiliesReport:
    """Run everybody on every set, but for the runs that the ledger holds (`answer_all`)."""
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
