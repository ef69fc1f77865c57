"""Arguments and options shared by several commands, and the command line they form."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import coterie
from coterie.cli.refusal import refuse


def shipped_weights(incomplete: str) -> list[str]:
    """The names of the shipped models for shell completion, without loading any."""
    folder = Path(coterie.__file__).parent / "weights"
    names = sorted(path.stem for path in folder.glob("*.safetensors"))
    return [name for name in names if name.startswith(incomplete)]


# Panels of a command's help, each with widths of its own.
COLUMNS = "Columns"
READING = "Reading the file"
WRITING = "Output"
MACHINES = "Many machines"


class Ending(StrEnum):
    """The endings of `coterie.inference.endings`, listed here so that the help loads nothing."""

    auto = "auto"
    network = "network"
    judge = "judge"
    em = "em"
    consolidate = "consolidate"
    looks = "looks"


class Engine(StrEnum):
    """Where many files are clustered."""

    dask = "dask"


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV or TSV, Excel, JSON or JSON lines, Parquet, Arrow or Feather, also compressed"
        " with gzip or zstd; NPY, NPZ; - is standard input. Or a folder of images.",
    ),
]
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="CSV or TSV, Excel, JSON or JSON lines, Parquet, Arrow or Feather, also compressed"
        " with gzip or zstd; NPY, NPZ; - is standard input. Several files with the same columns"
        " are read as one table. Or a folder of images.",
    ),
]
LabelsOnly = Annotated[
    bool,
    typer.Option(
        "--labels-only",
        help="Write only the columns of --id, the clusters and the confidence.",
        rich_help_panel=WRITING,
    ),
]
NoConfidence = Annotated[
    bool,
    typer.Option(
        "--no-confidence",
        help="With --engine: do not compute or write the confidence, which takes as long as"
        " finding the cluster.",
        rich_help_panel=WRITING,
    ),
]
KeepFormulas = Annotated[
    bool,
    typer.Option(
        "--keep-formulas",
        help="Write text that begins with = + - @ unchanged. Default: after an apostrophe, so"
        " that a spreadsheet does not execute it.",
        rich_help_panel=WRITING,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Columns to cluster by, separated by commas. Default: all informative columns.",
        show_default=False,
        rich_help_panel=COLUMNS,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Columns to drop, separated by commas.",
        show_default=False,
        rich_help_panel=COLUMNS,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Columns of numbers to treat as categories, separated by commas.",
        show_default=False,
        rich_help_panel=COLUMNS,
    ),
]
Id = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="NAMES",
        help="Columns that identify the rows: shown in the report, not clustered.",
        show_default=False,
        rich_help_panel=COLUMNS,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="CHAR",
        help="The column separator of a text file. Default: detected.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
DecimalSign = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="CHAR",
        help="The decimal sign of a text file, . or , as in 1,5. Default: detected.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of a text file names the columns. Default: detected.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The encoding of a text file, as in latin-1 or utf-16. Default: detected.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
Array = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The array of an NPZ file, or the sheet of an Excel file, to cluster.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
NClusters = Annotated[
    str | None,
    typer.Option(
        metavar="K|LOW:HIGH",
        help="The number of clusters, as in 5, or a range, as in 2:8. Default: inferred.",
        show_default=False,
    ),
]
MinClusterSize = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="Dissolve smaller clusters; their rows move to the next most probable one.",
    ),
]
Noise = Annotated[bool, typer.Option("--noise", help="Label outliers as noise, cluster -1.")]
Sample = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Maximum number of rows in memory; longer files are sampled by value."
        " Default: 100,000.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Random seed for the sample of a long file.")
]
ModelSeed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        help="Random seed for the samples of long tables. Default: rows are drawn by their values,"
        " as in Python.",
        show_default=False,
    ),
]
EngineOption = Annotated[
    Engine | None,
    typer.Option(
        "--engine",
        help="Cluster many Parquet files, as in 'folder/*.parquet', on a cluster of machines;"
        " --out is then a folder.",
        show_default=False,
        rich_help_panel=MACHINES,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="The scheduler of the cluster, as in tcp://host:8786. Default: all cores of this"
        " machine.",
        show_default=False,
        rich_help_panel=MACHINES,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=WRITING)
]


def parse_n_clusters(text: str | None) -> int | tuple[int, int] | None:
    """5 -> 5, 2:8 -> (2, 8)."""
    if text is None:
        return None
    parts = text.split(":")
    if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
        refuse(f"--n-clusters takes a number, as in 5, or a range, as in 2:8, not {text!r}")
    low, high = int(parts[0]), int(parts[-1])
    if low < 1 or high < low:
        refuse(f"--n-clusters {text}: invalid number of clusters")
    return low if len(parts) == 1 else (low, high)


def command_line(context: typer.Context) -> str:
    """The command with its arguments, quoted for a shell."""
    words = context.command_path.split()
    arguments: list[str] = []
    options: list[str] = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[parameter.name or ""]
        if parameter.param_type_name == "argument":
            arguments += map(str, value if isinstance(value, list | tuple) else [value])
        elif isinstance(value, bool):
            options.append(parameter.opts[0])
        else:
            for each in value if isinstance(value, list | tuple) else [value]:
                options += [parameter.opts[0], str(each)]
    return shlex.join([*words, *arguments, *options])
