"""Odd data frames of pandas, polars and pyarrow: types, gaps, names and indices, seeded."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.random import Generator

from reliability._odd_arrays import ARRAYS, Maker, points

NAMES: tuple[Any, ...] = (
    *("", " ", "a", "a", "id", "cluster", "confidence", "Unnamed: 0", "x\ny", "\x1b[31m", "=1+1"),
    *("é", "名", "\u202e", "a" * 3_000, 0, -1, 1.5, None, np.nan, ("a", 1), True, "nan", ",", '"'),
)
TEXTS = ("red", "green", "blue", "", "NA", " red", "é", "1", "1,5", "true", "2020-01-01", "\x00")


def _cells(random: Generator, n: int) -> Any:
    """A column of n values of some kind."""
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: random.normal(size=n),
        lambda: random.normal(size=n).astype("f4"),
        lambda: random.integers(0, 5, size=n),
        lambda: np.arange(n),
        lambda: random.integers(0, 2, size=n).astype(bool),
        lambda: np.full(n, 7),
        lambda: np.where(random.random(n) < 0.5, np.nan, random.normal(size=n)),
        lambda: np.full(n, np.nan),
        lambda: random.choice(TEXTS, size=n).astype(object),
        lambda: [f"row {i}" for i in range(n)],
        lambda: random.choice(np.array([1.0, None, "a", True], dtype=object), size=n),
        lambda: random.choice(np.array([None, True, False], dtype=object), size=n),
        lambda: np.array([Decimal(int(i)) / 3 for i in random.integers(9, size=n)], dtype=object),
        lambda: np.datetime64("2020-01-01") + random.integers(0, 900, size=n),
        lambda: random.integers(0, 900, size=n).astype("m8[s]"),
        lambda: [datetime.date(2020, 1, 1 + int(i)) for i in random.integers(28, size=n)],
        lambda: random.choice((np.inf, 1.0), size=n),
        lambda: random.choice((1e300, 1.0), size=n),
        lambda: random.choice((1e-320, 0.0), size=n),
        lambda: random.choice(np.array([2**63, 1], dtype="u8"), size=n),
        lambda: np.array([10**400, *range(n - 1)], dtype=object),
        lambda: random.normal(size=n) + 1j,
        lambda: [b"bytes"] * n,
    )
    return kinds[int(random.integers(len(kinds)))]()


def _columns(random: Generator) -> dict[str, Any]:
    n = len(points(random))
    return {f"c{i}": _cells(random, n) for i in range(int(random.choice((1, 2, 3, 5, 9))))}


def _pandas(random: Generator) -> pd.DataFrame:
    frame = pd.DataFrame(_columns(random))
    if random.random() < 0.3:
        frame = frame.convert_dtypes()
    return frame


def _pandas_types(random: Generator) -> pd.DataFrame:
    """Types of columns that pandas alone has."""
    frame = pd.DataFrame(points(random)[:, :3])
    n, whole = len(frame), random.integers(0, 4, size=len(frame))
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: pd.Categorical(random.choice(["a", "b"], size=n), categories=["b", "a", "never"]),
        lambda: pd.Categorical(whole, ordered=True),
        lambda: pd.Categorical([None] * n),
        lambda: pd.array([None if i > 2 else i for i in whole], dtype="Int64"),
        lambda: pd.array([None if i > 2 else i > 0 for i in whole], dtype="boolean"),
        lambda: pd.array(whole.astype(str), dtype="string"),
        lambda: pd.arrays.SparseArray(whole),
        lambda: pd.date_range("2020", periods=n, tz="UTC"),
        lambda: pd.period_range("2020", periods=n, freq="D"),
        lambda: pd.interval_range(0, n),
        lambda: pd.to_timedelta(whole, unit="h"),
        lambda: pd.Series(whole, index=frame.index, dtype="int64[pyarrow]"),
        lambda: pd.Series([pd.NaT] * n),
        lambda: pd.Series([pd.NA] * n),
        lambda: pd.Series([[1, 2]] * n),
        lambda: pd.Series([{}] * n),
        lambda: pd.Series([np.zeros(2)] * n),
    )
    for at in range(int(random.integers(1, 4))):
        frame[f"t{at}"] = kinds[int(random.integers(len(kinds)))]()
    return frame


def _named(random: Generator) -> pd.DataFrame:
    """Names and indices that nobody would choose."""
    frame = pd.DataFrame(points(random))
    chosen = random.integers(len(NAMES), size=frame.shape[1])
    frame.columns = pd.Index([NAMES[at] for at in chosen], dtype=object, tupleize_cols=False)
    match random.integers(5):
        case 0:
            frame.columns = pd.MultiIndex.from_tuples([("a", i) for i in range(frame.shape[1])])
        case 1:
            frame.index = pd.MultiIndex.from_tuples([("r", i) for i in range(len(frame))])
        case 2:
            frame.index = pd.Index([0] * len(frame))
        case 3:
            frame.columns = pd.date_range("2020", periods=frame.shape[1])
    return frame


def _empty(random: Generator) -> Any:
    frame = pd.DataFrame(points(random))
    frames = (
        *(frame[:0], frame[[]], pd.DataFrame(), frame[0], frame[0].rename("x"), frame.T),
        *(pl.DataFrame(), pl.DataFrame({"a": []}), pa.table({}), pa.table({"a": pa.nulls(0)})),
        *(pl.Series([1.0, 2.0]), pa.array([1.0, 2.0]), frame.groupby(frame.index % 2)),
        *(frame.index, pl.DataFrame({"a": [1, 2]}).lazy()),
    )
    return frames[int(random.integers(len(frames)))]


def _polars(random: Generator) -> Any:
    n = len(points(random))
    whole = random.integers(0, 4, size=n)
    kinds: tuple[Callable[[], pl.Series], ...] = (
        lambda: pl.Series(random.normal(size=n)),
        lambda: pl.Series(whole),
        lambda: pl.Series(whole.astype(str)),
        lambda: pl.Series(whole.astype(str), dtype=pl.Categorical),
        lambda: pl.Series(whole.astype(str), dtype=pl.Enum(["0", "1", "2", "3", "4"])),
        lambda: pl.Series([None] * n),
        lambda: pl.Series([None, *[1] * (n - 1)], dtype=pl.Int8),
        lambda: pl.Series([None, *[True] * (n - 1)]),
        lambda: pl.Series([[1, 2]] * n),
        lambda: pl.Series([{"a": 1}] * n),
        lambda: pl.Series([datetime.datetime(2020, 1, 1)] * n),
        lambda: pl.Series([datetime.time(1)] * n),
        lambda: pl.Series([Decimal("1.5")] * n),
        lambda: pl.Series([b"x"] * n),
        lambda: pl.Series([object()] * n, dtype=pl.Object),
        lambda: pl.Series([np.nan, *[1.0] * (n - 1)]),
    )
    chosen = random.integers(len(kinds), size=int(random.choice((1, 2, 3, 6))))
    frame = pl.DataFrame([kinds[at]().alias(f"c{i}") for i, at in enumerate(chosen)])
    return pl.concat([frame, frame], rechunk=False) if random.random() < 0.2 else frame


def _pyarrow(random: Generator) -> Any:
    n = len(points(random))
    whole = random.integers(0, 4, size=n)
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: pa.array(random.normal(size=n)),
        lambda: pa.array(whole.astype("i1")),
        lambda: pa.array(whole.astype(str)).dictionary_encode(),
        lambda: pa.array([None, *["a"] * (n - 1)]).dictionary_encode(),
        lambda: pa.nulls(n),
        lambda: pa.array([None, *[1] * (n - 1)]),
        lambda: pa.array([[1]] * n),
        lambda: pa.array([{"a": 1}] * n),
        lambda: pa.array([Decimal("1.50")] * n),
        lambda: pa.array([datetime.datetime(2020, 1, 1)] * n),
        lambda: pa.array([True, *[None] * (n - 1)]),
        lambda: pa.array(random.normal(size=n).astype("f2")),
        lambda: pa.array([b"x"] * n, pa.large_binary()),
    )
    chosen = random.integers(len(kinds), size=int(random.choice((1, 2, 3, 6))))
    names = (
        ["same"] * len(chosen) if random.random() < 0.2 else [f"c{i}" for i in range(len(chosen))]
    )
    table = pa.Table.from_arrays([kinds[at]() for at in chosen], names=names)
    return table.to_batches()[0] if random.random() < 0.2 else table


FRAMES: dict[str, Maker] = {
    "pandas": _pandas,
    "pandas of numbers": lambda random: pd.DataFrame(points(random)),
    "types of pandas": _pandas_types,
    "names and indices": _named,
    "empty frames and columns alone": _empty,
    "polars": _polars,
    "pyarrow": _pyarrow,
}
TABLES: dict[str, Maker] = {**ARRAYS, **FRAMES}
