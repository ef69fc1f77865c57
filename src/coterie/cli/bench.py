"""`coterie bench`: the tables of the papers, measured again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from coterie.cli.interruption import interrupt
from coterie.cli.refusal import refusing
from coterie.cli.tables import progress_bars, show_tables

Sets = Annotated[int, typer.Option(metavar="N", min=1, help="How many test sets.")]
SetsOfEach = Annotated[int, typer.Option(metavar="N", min=1, help="How many sets of each family.")]
PeerSets = Annotated[int, typer.Option(metavar="N", min=0, help="How many of them the peers get.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Draws the test sets.")]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the results go, as JSON.")]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A shipped model or a weights file; may be repeated. Default: the shipped ones.",
        show_default=False,
    ),
]
KLimit = Annotated[
    int, typer.Option(metavar="N", min=2, help="The largest k that the peers look for.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that was killed.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Measure the peers again, too.")]
RESULTS = Path("benchmarks/results")

bench = typer.Typer(no_args_is_help=True, epilog="Example: coterie bench mog --sets 100")


@bench.callback()
def _benchmarks() -> None:
    """Measure the shipped models against the papers and against their peers."""


@bench.command(epilog="Example: coterie bench mog --sets 100 --peer-sets 10")
def mog(
    sets: Sets = 1000,
    peer_sets: PeerSets = 100,
    seed: Seed = 0,
    weights: Weights = None,
    out: Out = RESULTS,
) -> None:
    """Mixtures of Gaussians, as in the tables of the DAC paper."""
    with refusing():
        from coterie.bench.mog import SHIPPED, run_mog

        names = _known(weights or SHIPPED)
    _measure(lambda progress: run_mog(sets, peer_sets, seed, progress, weights=names), out)


@bench.command(epilog="Example: coterie bench warped --sets 100 --peer-sets 10")
def warped(
    sets: Sets = 1000,
    peer_sets: PeerSets = 100,
    seed: Seed = 0,
    weights: Weights = None,
    out: Out = RESULTS,
) -> None:
    """Warped Gaussians: clusters that no Gaussian describes."""
    with refusing():
        from coterie.bench.warped import SHIPPED, run_warped

        names = _known(weights or SHIPPED)
    _measure(lambda progress: run_warped(sets, peer_sets, seed, progress, weights=names), out)


@bench.command(epilog="Example: coterie bench speed --max-points 100000 --sets 10")
def speed(
    device: Annotated[
        str, typer.Option(metavar="cpu|cuda", help="Where the networks run; peers only on cpu.")
    ] = "cpu",
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A model to time one set a call; may be repeated. The first is grown.",
        ),
    ] = None,
    batched: Annotated[
        str, typer.Option(metavar="NAME", help="The model to time on a batch of sets.")
    ] = "amcp-mog2d-wide",
    max_points: Annotated[
        int, typer.Option(metavar="N", min=1000, help="The size up to which one set grows.")
    ] = 10_000_000,
    sets: Sets = 100,
    seed: Seed = 0,
    out: Out = RESULTS,
) -> None:
    """Seconds and memory: one set a call, a batch of sets, sets of growing size."""
    names = weights or ["amcp-mog2d"]
    with refusing():
        from coterie.bench.speed import refuse_unfit, run_speed

        refuse_unfit(device, names, batched, max_points)
    _measure(
        lambda progress: run_speed(device, names, batched, max_points, sets, seed, progress), out
    )


@bench.command(epilog="Example: coterie bench tables --data FOLDER --weights amcp-warped2d")
def tables(
    data: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", envvar="COTERIE_DATA", help="Where clustering_suite.npz lies."
        ),
    ],
    weights: Weights = None,
    k_limit: KLimit = 20,
    threads: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=1, help="Threads to time with; may be repeated. [1, 2]"),
    ] = None,
    resume: Resume = False,
    fresh: Fresh = False,
    out: Out = RESULTS,
) -> None:
    """Public labelled sets: our models and those that choose k themselves.

    The peers' runs are kept and used again, our models' are not; every figure tells its run.
    """
    with refusing():
        from coterie.bench.tables import SHIPPED, Plan, run_tables
        from coterie.data.suite import FILE, read_suite

        _refuse_both(resume, fresh)
        plan = Plan(_known(weights or SHIPPED), k_limit, tuple(threads or (1, 2)))
        suite = read_suite(data / FILE, k_max=plan.k_max)
    _measure(
        lambda progress: run_tables(
            suite, plan, out / "tables.jsonl", resume=resume, fresh=fresh, progress=progress
        ),
        out,
        kept=out / "tables.jsonl",
    )


@bench.command(epilog="Example: coterie bench families --sets 10")
def families(
    sets: SetsOfEach = 40,
    seed: Seed = 0,
    weights: Weights = None,
    k_limit: KLimit = 32,
    resume: Resume = False,
    fresh: Fresh = False,
    out: Out = RESULTS,
) -> None:
    """Fresh sets of each family of the universal prior: our models, their peers and a ceiling.

    The peers' runs are kept and used again, our models' are not; every figure tells its run.
    """
    with refusing():
        from coterie.bench.families import Plan, run_families
        from coterie.bench.tables import SHIPPED

        _refuse_both(resume, fresh)
        plan = Plan(_known(weights or SHIPPED), sets, seed, k_limit)
    _measure(
        lambda progress: run_families(
            plan, out / "families.jsonl", resume=resume, fresh=fresh, progress=progress
        ),
        out,
        kept=out / "families.jsonl",
    )


@bench.command(epilog="Example: coterie bench calibration --sets 10 --weights FILE")
def calibration(
    sets: SetsOfEach = 40, seed: Seed = 0, weights: Weights = None, out: Out = RESULTS
) -> None:
    """Whether memberships mean what they say, on fresh sets of the universal prior."""
    with refusing():
        from coterie.bench.calibration import SHIPPED, run_calibration

        names = _known(weights or SHIPPED)
    _measure(lambda progress: run_calibration(names, sets, seed, progress), out)


@bench.command(epilog="Example: coterie bench studies --runs runs/studies --sets 50")
def studies(
    runs: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where each recipe has a folder of its name.")
    ] = Path("runs/studies"),
    sets: Sets = 200,
    seed: Seed = 0,
    out: Out = RESULTS,
) -> None:
    """What each choice in AMCP is worth: small networks that differ in one thing."""
    with refusing():
        from coterie.bench.studies import run_studies, trained_recipes

        trained_recipes(runs)  # wrong weights are told before the work
    _measure(lambda progress: run_studies(runs, sets, seed, progress), out)


def _refuse_both(resume: bool, fresh: bool) -> None:
    if resume and fresh:
        raise ValueError("--resume goes on with a run, --fresh starts a new one: choose")


def _known(names: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """The names, once they are known to open: a wrong one is told before the work."""
    from coterie.weights.catalogue import open_model

    for name in names:
        open_model(name)
    return tuple(dict.fromkeys(names))  # twice the same name would mix its runs


def _measure(run: Callable[[Any], Any], out: Path, *, kept: Path | None = None) -> None:
    """Run a benchmark, write its report into the folder, and show its tables.

    kept: where it writes its runs down as they come, if it does.
    """
    with refusing():
        out.mkdir(parents=True, exist_ok=True)  # before the work, so that it is not lost
    try:
        with progress_bars() as progress:
            report = run(progress)
    except KeyboardInterrupt:
        if kept is None or not kept.exists():
            interrupt("interrupted; no results were written")
        interrupt(f"interrupted; {kept} has what was measured, --resume goes on with it")
    target = out / f"{report.name}.json"
    with refusing():
        target.write_text(json.dumps(report.to_json(), indent=2) + "\n")
    console = Console(highlight=False)
    show_tables(report.tables(), console)
    console.print(f"[dim]results[/] {escape(str(target))}", soft_wrap=True)
