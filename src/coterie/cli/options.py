"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

import coterie


def shipped_weights(incomplete: str) -> list[str]:
    """The names of the shipped models, for the shell; without loading any of them."""
    folder = Path(coterie.__file__).parent / "weights"
    names = sorted(path.stem for path in folder.glob("*.safetensors"))
    return [name for name in names if name.startswith(incomplete)]


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV or TSV with a header, Parquet, Arrow or Feather, NPY, NPZ; - is standard input."
        " Or a folder of images.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Cluster by these columns, with commas between them. Default: all of numbers.",
        show_default=False,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Leave these columns out.", show_default=False),
]
Id = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="NAMES",
        help="Columns that name the rows: carried, not clustered.",
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="CHAR",
        help="What separates the columns. Default: a comma, a tab in .tsv.",
        show_default=False,
    ),
]
Encoding = Annotated[
    str, typer.Option(metavar="NAME", help="How text is encoded, as in latin-1 or utf-16.")
]
Array = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Which array of an NPZ file is the table.", show_default=False
    ),
]
MinClusterSize = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        help="Dissolve clusters of fewer rows: these join the next likely one.",
    ),
]
Noise = Annotated[
    bool, typer.Option("--noise", help="Give rows that no cluster wants the cluster -1.")
]
Sample = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Rows held in memory: of a longer file, clusters are found on a sample of as many.",
        show_default="100000",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Draws the sample of a long file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
