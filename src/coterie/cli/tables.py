"""Tables and progress on a terminal."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

GAP = 3


class Column(NamedTuple):
    """A column of a table to show."""

    name: str
    cells: list[str]

    @property
    def is_numeric(self) -> bool:
        """Whether all cells that are not empty start with a number."""
        return all(_is_number(cell) for cell in self.cells if cell.strip())

    @property
    def width(self) -> int:
        """How much of a line the column takes, with the space around it."""
        return GAP + max(cell_len(text) for text in [self.name, *self.cells])


def show_tables(tables: Iterable[tuple[str, list[str], list[list[str]]]], console: Console) -> None:
    """Print tables of (title, header, rows), each cut to the console's width."""
    for title, header, rows in tables:
        console.print(f"[bold]{escape(title)}[/]")
        for piece in pieces(header, rows, console.width):
            console.print(_table(piece))


def pieces(header: list[str], rows: list[list[str]], width: int) -> list[list[Column]]:
    """Cut a table that is too wide into narrow ones, each with the columns that name the rows."""
    columns = [Column(name, [row[at] for row in rows]) for at, name in enumerate(header)]
    naming = list(takewhile(lambda column: not column.is_numeric, columns))
    cut: list[list[Column]] = [[*naming]]
    for column in columns[len(naming) :]:
        if len(cut[-1]) > len(naming) and 1 + sum(c.width for c in [*cut[-1], column]) > width:
            cut.append([*naming])
        cut[-1].append(column)
    return cut


def _table(columns: list[Column]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    for column in columns:
        justify: JustifyMethod = "right" if column.is_numeric else "left"
        table.add_column(escape(column.name), justify=justify)
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(escape, cells))
    return table


def _is_number(cell: str) -> bool:
    """Whether a cell starts with a number, as in "0.98 ± 0.01"."""
    try:
        float(cell.split()[0].rstrip(","))
    except ValueError:
        return False
    return True


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Bars on stderr, one for each thing that is measured; none where nobody watches."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bars:
        tasks: dict[str, int] = {}

        def report(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(escape(name), total=total)
            bars.update(tasks[name], completed=done, total=total)  # type: ignore[arg-type]

        yield report
