"""Small tables in every format that the command line reads, and ways to damage them, seeded."""

import gzip
import io
import json
from collections.abc import Callable

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from numpy.random import Generator

ODD_BYTES = (
    *(b'"', b'""', b'"""', b"'", b"\x00", b"\x00" * 300, b"\n", b"\r", b"\r\n", b",", b";", b"\t"),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1b[2J", b"\\", b"\x1a", b"=1+1"),
    *(b"NaN", b"inf", b"-", b"1e999", b"1e-999", b"9" * 400, b"null", b"true", b"{", b"[", b"}]"),
    *(b",".join([b"a"] * 3_000), b"x" * 70_000, b"[" * 3_000, b'{"a":' * 3_000, b"\n" * 1_000),
)
TEXTS = (b"y, z", b"kind", b"gap", b"red")
ENCODINGS = ("utf-16", "utf-16-be", "utf-32", "utf-8-sig", "latin-1", "cp037", "utf-7")

Damage = Callable[[bytes, Generator], bytes]


def frame(random: Generator) -> pl.DataFrame:
    """A table of two groups, with numbers, categories, gaps and texts."""
    n = int(random.choice((3, 20, 45)))
    group = np.arange(n) % 2
    cells = {
        "x": np.round(random.normal(size=n) + 6 * group, 3),
        "y, z": np.round(random.normal(size=n), 3),
        "n": random.integers(0, 90, size=n),
        "kind": [("red", 'gr"een', "bl,ue")[i] for i in random.integers(3, size=n)],
        "gap": [None if i == 0 else float(i) for i in random.integers(4, size=n)],
    }
    return pl.DataFrame(cells).select(list(cells)[: int(random.choice((2, 4, 5)))])


def _csv(table: pl.DataFrame) -> bytes:
    return table.write_csv().encode()


def _arrow(table: pl.DataFrame, make: Callable[..., object]) -> bytes:
    sink, arrow = io.BytesIO(), table.to_arrow()
    with make(sink, arrow.schema) as writer:  # type: ignore[attr-defined]
        writer.write_table(arrow)
    return sink.getvalue()


def _parquet(table: pl.DataFrame) -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(table.to_arrow(), sink)
    return sink.getvalue()


def _array(table: pl.DataFrame) -> bytes:
    sink = io.BytesIO()
    np.save(sink, table.select("x", "y, z").to_numpy())
    return sink.getvalue()


def _archive(table: pl.DataFrame) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, X=table.select("x", "y, z").to_numpy(), y=np.arange(len(table)))
    return sink.getvalue()


FORMATS: dict[str, Callable[[pl.DataFrame], bytes]] = {
    ".csv": _csv,
    ".tsv": lambda table: table.write_csv(separator="\t").encode(),
    ".txt": lambda table: table.write_csv(separator=";").encode(),
    ".jsonl": lambda table: table.write_ndjson().encode(),
    ".json": lambda table: table.write_json().encode(),
    ".parquet": _parquet,
    ".feather": lambda table: _arrow(table, pa.ipc.new_file),
    ".arrows": lambda table: _arrow(table, pa.ipc.new_stream),
    ".npy": _array,
    ".npz": _archive,
    ".csv.gz": lambda table: gzip.compress(_csv(table), mtime=0),
    ".csv.zst": lambda table: pa.compress(_csv(table), codec="zstd", asbytes=True),
}


def flip_bits(content: bytes, random: Generator) -> bytes:
    """One to eight bits are others."""
    data = bytearray(content)
    for bit in random.integers(8 * len(data), size=int(random.integers(1, 9))):
        data[int(bit) // 8] ^= 1 << int(bit) % 8
    return bytes(data)


def flip_at_an_end(content: bytes, random: Generator) -> bytes:
    """Bytes among the first or last hundred, where formats keep what they are."""
    data = bytearray(content)
    for _ in range(int(random.integers(1, 5))):
        at = int(random.integers(min(100, len(data))))
        data[at if random.random() < 0.5 else -1 - at] = int(random.integers(256))
    return bytes(data)


def truncate(content: bytes, random: Generator) -> bytes:
    """The end is missing, or the beginning."""
    at = int(random.integers(len(content)))
    return content[:at] if random.random() < 0.7 else content[at:]


def insert(content: bytes, random: Generator) -> bytes:
    """Bytes that mean something are where they do not belong."""
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(1 + len(content)))
        content = content[:at] + ODD_BYTES[int(random.integers(len(ODD_BYTES)))] + content[at:]
    return content


def repeat_a_part(content: bytes, random: Generator) -> bytes:
    """A part is there twice, or in another place."""
    start, end = sorted(random.integers(1 + len(content), size=2).tolist())
    part = content[start:end]
    rest = content if random.random() < 0.5 else content[:start] + content[end:]
    at = int(random.integers(1 + len(rest)))
    return rest[:at] + part + rest[at:]


def delete_a_part(content: bytes, random: Generator) -> bytes:
    """Up to forty bytes are missing."""
    at = int(random.integers(len(content)))
    return content[:at] + content[at + int(random.integers(1, 41)) :]


def blank(content: bytes, random: Generator) -> bytes:
    """A block of zeros or noise, as of a bad disk."""
    at, size = int(random.integers(len(content))), int(random.choice((4, 64, 512)))
    block = bytes(size) if random.random() < 0.5 else random.bytes(size)
    return content[:at] + block + content[at + size :]


def encode_otherwise(content: bytes, random: Generator) -> bytes:
    """Text in another encoding, or what is none read as text."""
    name = ENCODINGS[int(random.integers(len(ENCODINGS)))]
    return content.decode("latin-1").encode(name, "replace")


def nest(content: bytes, random: Generator) -> bytes:
    """Brackets or compressed layers around it."""
    depth = int(random.choice((1, 2, 50, 5_000, 100_000)))
    if random.random() < 0.3:
        return gzip.compress(gzip.compress(content))
    if random.random() < 0.5:
        return b"[" * depth + content + b"]" * depth
    cell = json.dumps({"x": "deep"}).encode().replace(b'"deep"', b"[" * depth + b"]" * depth)
    return content + b"\n" + cell


def spoil_a_text(content: bytes, random: Generator) -> bytes:
    """A name or a category is no UTF-8, in one place or in all."""
    text = TEXTS[int(random.integers(len(TEXTS)))]
    return content.replace(text, b"\xff" * len(text), 1 if random.random() < 0.5 else -1)


def leave(content: bytes, random: Generator) -> bytes:
    """Nothing is damaged."""
    return content


DAMAGES: tuple[Damage, ...] = (
    *(flip_bits, flip_at_an_end, truncate, insert, repeat_a_part, delete_a_part, blank),
    *(encode_otherwise, nest, spoil_a_text, leave),
)
