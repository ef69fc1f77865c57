"""Odd arrays, and what is none: shapes, types, layouts and values, seeded."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

# The rows of a table are few in most attempts, so that there can be many.
ROWS, SHARES = (1, 2, 3, 4, 5, 8, 13, 34, 60, 150, 400), (1, 1, 2, 2, 2, 3, 3, 4, 4, 2, 1)
COLUMNS = (1, 2, 2, 2, 3, 4, 6, 17, 40)
WRONG = (np.nan, np.inf, -np.inf, 1e16, -1e300, 1.7e308)
EXTREMES = (1e15, -1e15, 5e-324, -1e-310, 1e-45, 0.0, -0.0, 2.0**53 + 2, 1e-8)
DTYPES = ("f2", "f4", "f8", "g", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", ">f8", ">i4")
FOREIGN = ("c8", "c16", "M8[s]", "m8[D]", "U5", "S5", "V8", "O")

Maker = Callable[[Generator], Any]


def points(random: Generator) -> NDArray[np.float64]:
    """Ordinary points (n, d), in a few groups."""
    shares = np.array(SHARES) / sum(SHARES)
    n, d = int(random.choice(ROWS, p=shares)), int(random.choice(COLUMNS))
    centres = random.normal(size=(int(random.integers(1, 5)), d)) * random.choice((0.0, 2.0, 8.0))
    return centres[random.integers(len(centres), size=n)] + random.normal(size=(n, d))


def some(random: Generator, table: NDArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A few cells of a table."""
    count = int(random.integers(1, 1 + max(1, table.size // 5)))
    return random.integers(len(table), size=count), random.integers(table.shape[1], size=count)


def _with(values: tuple[float, ...]) -> Maker:
    def make(random: Generator) -> NDArray:
        table = points(random)
        table[some(random, table)] = random.choice(values)
        return table

    return make


def _repeated(random: Generator) -> NDArray:
    table = points(random)
    return table[random.integers(0, 1 + len(table) // 4, size=len(table))]


def _constant(random: Generator) -> NDArray:
    table = points(random)
    table[:, random.random(table.shape[1]) < random.choice((0.3, 1.0))] = random.choice(EXTREMES)
    return table


def _scaled(random: Generator) -> NDArray:
    """Columns of very different units and offsets."""
    table = points(random)
    lowest = random.choice((-3, -30, -320))
    units = 10.0 ** random.uniform(lowest, random.choice((3, 14)), size=table.shape[1])
    return table * units + random.choice((0.0, 1.0, 1e8, 1e12))


def _collinear(random: Generator) -> NDArray:
    table = points(random)
    return table[:, :1] * random.normal(size=(1, table.shape[1]))


def _on_a_grid(random: Generator) -> NDArray:
    return np.rint(points(random) * random.choice((0.3, 1.0, 100.0)))


def _typed(random: Generator) -> NDArray:
    with np.errstate(all="ignore"):
        return points(random).astype(str(random.choice(DTYPES)))


def _foreign(random: Generator) -> NDArray:
    kind = str(random.choice(FOREIGN))
    numbers = np.rint(points(random))
    return numbers.astype("i8").astype(kind) if kind[0] in "mM" else numbers.astype(kind)


def _objects(random: Generator) -> NDArray:
    table = points(random).astype(object)
    odd: tuple[Any, ...] = (
        None,
        "a",
        "",
        b"x",
        10**400,
        Decimal("1.5"),
        Fraction(1, 3),
        True,
        [1],
        {},
        1j,
        "1e5",
    )
    table[some(random, table)[0][0], 0] = odd[int(random.integers(len(odd)))]
    return table


def _laid_out(random: Generator) -> Any:
    """The same numbers, otherwise in memory."""
    table = points(random)
    doubled = np.repeat(np.repeat(table, 2, 0), 2, 1)
    frozen = table.copy()
    frozen.flags.writeable = False
    layouts = (
        *(frozen, np.asfortranarray(table), table[::-1], table[:, ::-1], doubled[::2, ::2]),
        *(np.broadcast_to(table[:1], table.shape), np.broadcast_to(table[:, :1], table.shape)),
        *(table.view(np.matrix), np.frombuffer(table.tobytes()).reshape(table.shape), table.T),
    )
    return layouts[int(random.integers(len(layouts)))]


def _shaped(random: Generator) -> NDArray:
    table = points(random)
    shapes = (
        *(table[:0], table[:, :0], table[:0, :0], table[0], table[:, 0], table[None], table[0, 0]),
        *(table[..., None], np.array(3.0), np.empty((0,)), np.empty((3, 0, 2))),
    )
    return shapes[int(random.integers(len(shapes)))]


def _masked(random: Generator) -> Any:
    table = points(random)
    return np.ma.masked_greater(table, random.choice((0.0, 100.0)))


def _sparse(random: Generator) -> Any:
    table = np.where(random.random(2) < 0.5, 0.0, 1.0).max() * points(random)
    kinds = (sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix)
    return kinds[int(random.integers(len(kinds)))](table)


def _fields(random: Generator) -> NDArray:
    table = points(random)
    return np.array(
        [tuple(row[:2]) for row in table], dtype=[("a", "f8"), ("b", "f8")][: table[0, :2].size]
    )


def _tensor(random: Generator) -> Any:
    tensor = torch.from_numpy(points(random))
    tensors = (
        tensor,
        tensor.half(),
        tensor.bfloat16(),
        tensor.requires_grad_(),
        tensor.to_sparse(),
    )
    return tensors[int(random.integers(len(tensors)))]


def _lists(random: Generator) -> Any:
    rows = points(random).tolist()
    others: tuple[Any, ...] = (
        *(rows, tuple(map(tuple, rows)), [*rows, [1.0]], [*rows, []], [*rows, None], [], [[]]),
        *([["a", "b"], ["c", "d"]], [[True, False], [False, True]], range(5), iter(rows)),
        *([10**400], [[10**400, 1]], [[1 + 2j]], rows[0], [rows], {"a": 1}, None, "text", b"bytes"),
        *(object(), 3, float("nan"), {1, 2}, [[None, None]], [[{}]], np.ndarray, lambda: rows),
    )
    return others[int(random.integers(len(others)))]


ARRAYS: dict[str, Maker] = {
    "ordinary": points,
    "not finite or too large": _with(WRONG),
    "extreme": _with(EXTREMES),
    "repeated rows": _repeated,
    "constant columns": _constant,
    "scales": _scaled,
    "collinear": _collinear,
    "grid": _on_a_grid,
    "number types": _typed,
    "other types": _foreign,
    "objects": _objects,
    "layouts": _laid_out,
    "shapes": _shaped,
    "masked": _masked,
    "sparse": _sparse,
    "fields": _fields,
    "tensors": _tensor,
    "lists and what is no table": _lists,
}
