"""Tables on a terminal."""

from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table

from coterie.cli.printable import printable

GAP = 3


class ShownColumn(NamedTuple):
    """A column of a printed table."""

    name: str
    cells: list[str]

    @property
    def is_numeric(self) -> bool:
        """Whether all non-empty cells start with a number."""
        return all(_is_number(cell) for cell in self.cells if cell.strip())

    @property
    def width(self) -> int:
        """The printed width of the column, with the space around it."""
        return GAP + max(cell_len(text) for text in [self.name, *self.cells])


def show_tables(tables: Iterable[tuple[str, list[str], list[list[str]]]], console: Console) -> None:
    """Print tables of (title, header, rows), each fitted to the console's width."""
    for title, header, rows in tables:
        console.print(f"[bold]{escape(printable(title))}[/]")
        for piece in pieces(header, rows, console.width):
            console.print(_table(piece))


def pieces(header: list[str], rows: list[list[str]], width: int) -> list[list[ShownColumn]]:
    """Cut a wide table into narrow ones, each with the columns that name the rows."""
    columns = [ShownColumn(name, [row[at] for row in rows]) for at, name in enumerate(header)]
    naming = list(takewhile(lambda column: not column.is_numeric, columns))
    cut: list[list[ShownColumn]] = [[*naming]]
    for column in columns[len(naming) :]:
        if len(cut[-1]) > len(naming) and 1 + sum(c.width for c in [*cut[-1], column]) > width:
            cut.append([*naming])
        cut[-1].append(column)
    return cut


def _table(columns: list[ShownColumn]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0))
    for column in columns:
        justify: JustifyMethod = "right" if column.is_numeric else "left"
        table.add_column(escape(printable(column.name)), justify=justify)
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(escape(printable(cell)) for cell in cells))
    return table


def _is_number(cell: str) -> bool:
    """Whether a cell starts with a number, as in "0.98 ± 0.01"."""
    try:
        float(cell.split()[0].rstrip(","))
    except ValueError:
        return False
    return True
