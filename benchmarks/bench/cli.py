"""`python benchmarks`: a command for each benchmark, and one that trains the studies."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from bench.bars import progress_bars
from bench.train import train
from coterie.cli.interruption import interrupt
from coterie.cli.refusal import OneLineGroup, refusing
from coterie.cli.tables import show_tables

Sets = Annotated[int, typer.Option(metavar="N", min=1, help="Number of test sets.")]
SetsOfEach = Annotated[int, typer.Option(metavar="N", min=1, help="Number of sets of each family.")]
SetsOfSettings = Annotated[
    list[int] | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Number of test sets; may be repeated, once for each setting.",
        show_default=False,
    ),
]
PeerSets = Annotated[
    int, typer.Option(metavar="N", min=0, help="Number of these sets that the peers cluster, too.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the test sets.")]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the results, as JSON.")]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A shipped model or a weights file; may be repeated. Default: the shipped ones.",
        show_default=False,
    ),
]
Device = Annotated[str, typer.Option(metavar="cpu|cuda", help="Device of the networks.")]
KLimit = Annotated[int, typer.Option(metavar="N", min=2, help="The largest k that the peers try.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Measure the peers again instead of using their stored runs."),
]
RESULTS = Path(__file__).parent.parent / "results"

app = typer.Typer(
    cls=OneLineGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: python benchmarks mog --sets 100",
)


@app.callback()
def _benchmarks() -> None:
    """Benchmark the shipped models against the papers, other methods and the truth."""


@app.command(epilog="Example: python benchmarks mog --sets 100 --peer-sets 10")
def mog(
    sets: SetsOfSettings = None,
    peer_sets: PeerSets = 100,
    seed: Seed = 0,
    weights: Weights = None,
    out: Out = RESULTS,
) -> None:
    """Mixtures of Gaussians, as in the tables of the DAC paper.

    1,000 sets of each setting, unless told otherwise.
    """
    with refusing():
        from bench.mog import SETTINGS, SHIPPED, run_mog

        names = _known(weights or SHIPPED)
        number = _of_each(sets or [1000], len(SETTINGS))
    _measure(lambda progress: run_mog(number, peer_sets, seed, progress, weights=names), out)


@app.command(epilog="Example: python benchmarks ncp --sets 10")
def ncp(
    sets: Sets = 100,
    variant_sets: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of these sets for variants of NCP.")
    ] = 14,
    seed: Seed = 0,
    weights: Annotated[
        str, typer.Option(metavar="NAME", help="A shipped model of NCP or a weights file.")
    ] = "ncp-mog2d",
    device: Device = "cpu",
    resume: Resume = False,
    out: Out = RESULTS,
) -> None:
    """NCP, which seats one point after another, against DAC: Table 5 of the DAC paper."""
    with refusing():
        from bench.ncp import run_ncp

        (name,) = _known([weights])
    stored = out / "ncp.jsonl"
    _measure(
        lambda progress: run_ncp(
            sets,
            variant_sets,
            seed,
            progress,
            weights=name,
            device=device,
            ledger=stored,
            resume=resume,
        ),
        out,
        kept=stored,
    )


@app.command(epilog="Example: python benchmarks warped --sets 100 --peer-sets 10")
def warped(
    sets: Sets = 1000,
    peer_sets: PeerSets = 100,
    seed: Seed = 0,
    weights: Weights = None,
    out: Out = RESULTS,
) -> None:
    """Warped Gaussians: clusters that no Gaussian describes."""
    with refusing():
        from bench.warped import SHIPPED, run_warped

        names = _known(weights or SHIPPED)
    _measure(lambda progress: run_warped(sets, peer_sets, seed, progress, weights=names), out)


@app.command(epilog="Example: python benchmarks warped-published --sets 100 --peer-sets 10")
def warped_published(
    sets: SetsOfSettings = None,
    peer_sets: PeerSets = 100,
    seed: Seed = 0,
    weights: Weights = None,
    device: Device = "cpu",
    resume: Resume = False,
    out: Out = RESULTS,
) -> None:
    """Warped Gaussians of the DAC authors' published generator, as in their Table 6.

    1,000 sets of each setting, unless told otherwise.
    """
    with refusing():
        from bench.warped import SETTINGS, SHIPPED_PUBLISHED, run_published

        names = _known(weights or SHIPPED_PUBLISHED)
        number = _of_each(sets or [1000], len(SETTINGS))
    stored = out / "warped-published.jsonl"
    _measure(
        lambda progress: run_published(
            number,
            peer_sets,
            seed,
            progress,
            weights=names,
            device=device,
            ledger=stored,
            resume=resume,
        ),
        out,
        kept=stored,
    )


@app.command(epilog="Example: python benchmarks emnist --sets 10")
def emnist(
    sets: SetsOfSettings = None,
    peer_sets: PeerSets = 0,
    seed: Seed = 0,
    weights: Weights = None,
    device: Device = "cpu",
    resume: Resume = False,
    out: Out = RESULTS,
) -> None:
    """Sets of EMNIST characters, seen in training and unseen; needs COTERIE_DATA.

    50 sets of each setting, unless told otherwise.
    """
    with refusing():
        from bench.emnist import SETTINGS, SHIPPED, run_emnist

        names = _known(weights or SHIPPED)
        number = _of_each(sets or [50], len(SETTINGS))
    stored = out / "emnist.jsonl"
    _measure(
        lambda progress: run_emnist(
            number,
            peer_sets,
            seed,
            progress,
            weights=names,
            device=device,
            ledger=stored,
            resume=resume,
        ),
        out,
        kept=stored,
    )


@app.command(epilog="Example: python benchmarks speed --max-points 100000 --sets 10")
def speed(
    device: Annotated[
        str,
        typer.Option(
            metavar="cpu|cuda", help="Device of the networks; the peers run on the CPU only."
        ),
    ] = "cpu",
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A model to time on one set a call; may be repeated. The first one also gets"
            " sets of growing size.",
        ),
    ] = None,
    batched: Annotated[
        str, typer.Option(metavar="NAME", help="The model to time on a batch of sets.")
    ] = "amcp-mog2d-wide",
    max_points: Annotated[
        int, typer.Option(metavar="N", min=1000, help="Size of the largest set.")
    ] = 10_000_000,
    sets: Sets = 100,
    seed: Seed = 0,
    out: Out = RESULTS,
) -> None:
    """Time and memory: one set per call, a batch of sets, sets of growing size."""
    names = weights or ["amcp-mog2d"]
    with refusing():
        from bench.speed import refuse_unfit, run_speed

        refuse_unfit(device, names, batched, max_points)
    _measure(
        lambda progress: run_speed(device, names, batched, max_points, sets, seed, progress), out
    )


@app.command(epilog="Example: python benchmarks tables --data FOLDER --weights amcp-warped2d")
def tables(
    data: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", envvar="COTERIE_DATA", help="Folder of clustering_suite.npz."
        ),
    ],
    weights: Weights = None,
    k_limit: KLimit = 20,
    threads: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=1, help="Number of threads; may be repeated. [1, 2]"),
    ] = None,
    resume: Resume = False,
    fresh: Fresh = False,
    out: Out = RESULTS,
) -> None:
    """Public labelled sets: our models against methods that choose k.

    The runs of the peers are stored and reused, those of our models are not. Every figure names
    its run.
    """
    with refusing():
        from bench.suite import FILE, read_suite
        from bench.tables import SHIPPED, TablesPlan, run_tables

        _refuse_both(resume, fresh)
        plan = TablesPlan(_known(weights or SHIPPED), k_limit, tuple(threads or (1, 2)))
        suite = read_suite(data / FILE, k_max=plan.k_max)
    _measure(
        lambda progress: run_tables(
            suite, plan, out / "tables.jsonl", resume=resume, fresh=fresh, progress=progress
        ),
        out,
        kept=out / "tables.jsonl",
    )


@app.command(epilog="Example: python benchmarks families --sets 10")
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

    The runs of the peers are stored and reused, those of our models are not. Every figure names
    its run.
    """
    with refusing():
        from bench.families import FamiliesPlan, run_families
        from bench.tables import SHIPPED

        _refuse_both(resume, fresh)
        plan = FamiliesPlan(_known(weights or SHIPPED), sets, seed, k_limit)
    _measure(
        lambda progress: run_families(
            plan, out / "families.jsonl", resume=resume, fresh=fresh, progress=progress
        ),
        out,
        kept=out / "families.jsonl",
    )


@app.command(epilog="Example: python benchmarks calibration --sets 10 --weights FILE")
def calibration(
    sets: SetsOfEach = 40, seed: Seed = 0, weights: Weights = None, out: Out = RESULTS
) -> None:
    """Calibration of the membership probabilities, on fresh sets of the universal prior."""
    with refusing():
        from bench.calibration import SHIPPED, run_calibration

        names = _known(weights or SHIPPED)
    _measure(lambda progress: run_calibration(names, sets, seed, progress), out)


@app.command(epilog="Example: python benchmarks studies --runs runs/studies --sets 50")
def studies(
    runs: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder with a subfolder for each recipe.")
    ] = Path("runs/studies"),
    sets: Sets = 200,
    seed: Seed = 0,
    out: Out = RESULTS,
) -> None:
    """Ablations of AMCP: small networks that differ in one choice each."""
    with refusing():
        from bench.studies import run_studies, trained_recipes

        trained_recipes(runs)  # rejects wrong weights before the work
    _measure(lambda progress: run_studies(runs, sets, seed, progress), out)


app.command(epilog="Example: python benchmarks train study-amcp-base --device cuda")(train)


def _of_each(sets: list[int], n_settings: int) -> int | list[int]:
    """One number for all settings, or one for each."""
    if len(sets) not in (1, n_settings):
        raise ValueError(f"--sets once, or once for each of the {n_settings} settings")
    return sets[0] if len(sets) == 1 else sets


def _refuse_both(resume: bool, fresh: bool) -> None:
    if resume and fresh:
        raise ValueError("--resume and --fresh exclude each other: choose one")


def _known(names: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """The names without duplicates; raises for unknown ones before the work."""
    from coterie.weights.catalogue import open_model

    for name in names:
        open_model(name)
    return tuple(dict.fromkeys(names))  # runs of a duplicate name would be mixed up


def _measure(run: Callable[[Any], Any], out: Path, *, kept: Path | None = None) -> None:
    """Run a benchmark, write its report to the folder, and show its tables.

    kept: the file in which it stores its runs one by one, if any.
    """
    with refusing():
        out.mkdir(parents=True, exist_ok=True)  # before the work, so that no results are lost
    try:
        with progress_bars() as progress:
            report = run(progress)
    except KeyboardInterrupt as error:
        if kept is None or not kept.exists():
            interrupt(error, "interrupted; no results were written")
        interrupt(error, f"interrupted; {kept} has what was measured, continue with --resume")
    target = out / f"{report.name}.json"
    with refusing():
        target.write_text(json.dumps(report.to_json(), indent=2) + "\n")
    console = Console(highlight=False)
    show_tables(report.tables(), console)
    console.print(f"[dim]results[/] {escape(str(target))}", soft_wrap=True)
