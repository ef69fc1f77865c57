"""What a campaign of requests sends: seeded attempts, good, odd, oversized, slow and broken off."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar
from urllib.parse import quote

import numpy as np

from coterie.playground.methods import methods

Choice = TypeVar("Choice")
Manner = Literal["whole", "trickle", "leave", "leave early"]

PAGES = ("/", "/static/style.css", "/static/js/main.js", "/openapi.json")
LISTS = ("/api/limits", "/api/methods", "/api/presets", "/api/presets/moons?n=60&seed=3")
METHODS = tuple(methods())  # every shipped model for tables, and the peers
ODD_QUERIES = (
    "k=0", "k=-1", "k=9999", "k=5-2", "k=%00", "noise=perhaps", "steps=2", "scale=huge",
    "method=nothing", "method=" + "x" * 300, "truth=nothing", "columns=nothing", "k=2&k=3",
)  # fmt: skip
ODD_HOSTS = ("evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "[::1", "a b", "")
ODD_ORIGINS = ("https://evil.example", "null", "http://localhost:1", "//", "%", "http://[")
ODD_JSON = (
    b"", b"{", b"[]", b"null", b'{"points": [[1, NaN]]}', b'{"points": [[1e999, 2]]}',
    b'{"points": [[1], [1, 2]]}', b'{"points": [[1, 2]], "truth": [1, 2]}', b"[" * 20_000,
    b'{"points": ' + b"[" * 5_000, b'{"points": [[1, "2"]]}', b'{"points": [[1, 1e308]]}',
    b"\xff\xfe\x00", b'{"points": [[]]}', b'{"points": "' + b"x" * 5_000 + b'"}',
)  # fmt: skip
ODD_CSV = (
    b"", b"a", b"a,b\n", b"\n\n\n", b"a,b\n1\n", b'a,b\n"1,2\n3,4\n', b"a,b\n1,inf\n2,3\n",
    b"a,b\nx,y\n", b"\xff\xfea\x00", b"a,a\n1,2\n3,4\n", b",,\n1,2,3\n", b"a;b\n1,5;2,5\n3;4\n",
    b",".join([b"c"] * 8_000), b",".join([b"c"] * 200) + b"\n" + b",".join([b"1"] * 200),
    b"a,b\n" + b"1,2\n" * 3_000, b"a\tb\n1\t2\n", b"=1+1,b\n1,2\n3,4\n", b"a,b\r1,2\r3,4\r",
)  # fmt: skip
GARBAGE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\r\n\r\n\r\n", b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n", b"POST /api/cluster HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"\x00" * 500,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
)  # fmt: skip


@dataclass(frozen=True)
class Attempt:
    """Bytes to send, and how: whole, byte by byte, leaving in the middle, or before the answer."""

    kind: str
    data: bytes
    manner: Manner = "whole"


def make_attempts(number: int, seed: int, *, max_bytes: int, slow: float) -> Iterator[Attempt]:
    """So many attempts of all kinds, always the same for a seed.

    slow: the share of clients that trickle, each of which waits for the server's time limits.
    """
    generator = np.random.default_rng(seed)
    kinds: dict[Callable[[np.random.Generator], Attempt], float] = {
        _page: 0.45,
        _cluster: 0.08,
        _table: 0.05,
        _odd_json: 0.12,
        _odd_csv: 0.08,
        _odd_query: 0.06,
        _stranger: 0.05,
        lambda generator: _oversized(generator, max_bytes): 0.01,
        _garbage: 0.03,
        _leaving: 0.07 - slow,
        _slow: slow,
    }
    makers, shares = list(kinds), np.array(list(kinds.values()))
    for choice in generator.choice(len(makers), size=number, p=shares / shares.sum()):
        yield makers[choice](generator)


def request(
    verb: str,
    path: str,
    body: bytes = b"",
    kind: str = "application/json",
    *,
    host: str = "localhost",
    more: tuple[str, ...] = (),
) -> bytes:
    """The bytes of a request."""
    lines = [f"{verb} {path} HTTP/1.1", f"Host: {host}", *more]
    if verb == "POST":
        lines += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def _pick(generator: np.random.Generator, choices: Sequence[Choice]) -> Choice:
    return choices[int(generator.integers(len(choices)))]


def _page(generator: np.random.Generator) -> Attempt:
    return Attempt("page", request("GET", _pick(generator, PAGES + LISTS)))


def _points(generator: np.random.Generator) -> np.ndarray:
    shape = generator.integers(3, 60), generator.integers(1, 5)
    return np.round(generator.normal(size=shape) * 2, 3)


def _cluster(generator: np.random.Generator) -> Attempt:
    body = json.dumps({"points": _points(generator).tolist()}).encode()
    k = _pick(generator, ("", "", "2", "2-4"))
    query = f"?method={_pick(generator, METHODS)}&k={k}&steps={bool(generator.integers(2))}"
    return Attempt("cluster", request("POST", f"/api/cluster{query}", body))


def _rows(generator: np.random.Generator) -> bytes:
    points = _points(generator)
    lines = [",".join(f"c{i}" for i in range(points.shape[1]))]
    lines += [",".join(map(str, row)) for row in points.tolist()]
    return "\n".join(lines).encode()


def _table(generator: np.random.Generator) -> Attempt:
    scale = _pick(generator, ("whole", "columns", "none"))
    path = f"/api/table?scale={scale}"
    return Attempt("table", request("POST", path, _rows(generator), "text/csv"))


def _mutated(generator: np.random.Generator, good: bytes) -> bytes:
    """The same bytes with some changed, missing or doubled."""
    data = bytearray(good)
    for _ in range(generator.integers(1, 6)):
        at = int(generator.integers(len(data)))
        match generator.integers(3):
            case 0:
                data[at] = int(generator.integers(256))
            case 1:
                del data[at : at + int(generator.integers(1, 9))]
            case _:
                data[at:at] = data[at : at + 20]
        if not data:
            break
    return bytes(data)


def _odd_json(generator: np.random.Generator) -> Attempt:
    good = json.dumps({"points": _points(generator).tolist()}).encode()
    odd = _pick(generator, ODD_JSON) if generator.integers(2) else _mutated(generator, good)
    return Attempt("odd JSON", request("POST", "/api/cluster?method=amcp-mog2d", odd))


def _odd_csv(generator: np.random.Generator) -> Attempt:
    odd = (
        _pick(generator, ODD_CSV)
        if generator.integers(2)
        else _mutated(generator, _rows(generator))
    )
    path = _pick(generator, ("/api/table", "/api/cluster?method=amcp-mog2d"))
    return Attempt("odd CSV", request("POST", str(path), odd, "text/csv"))


def _odd_query(generator: np.random.Generator) -> Attempt:
    query = _pick(generator, ODD_QUERIES)
    if generator.integers(2):
        odd = "".join(map(chr, generator.integers(1, 0x2FFF, size=5)))
        path = f"/api/{quote(odd)}?{query}"
        return Attempt("odd address", request(_pick(generator, ("GET", "PUT", "HEAD")), path))
    return Attempt("odd query", request("POST", f"/api/cluster?{query}", b'{"points": [[1, 2]]}'))


def _stranger(generator: np.random.Generator) -> Attempt:
    if generator.integers(2):
        host = _pick(generator, ODD_HOSTS)
        return Attempt("stranger", request("GET", "/api/limits", host=host))
    origin = f"Origin: {_pick(generator, ODD_ORIGINS)}"
    body = b'{"points": [[1, 2]]}'
    return Attempt("stranger", request("POST", "/api/cluster", body, more=(origin,)))


def _oversized(generator: np.random.Generator, max_bytes: int) -> Attempt:
    size = max_bytes + int(generator.integers(1, max_bytes))
    return Attempt("oversized", request("POST", "/api/cluster", b" " * size))


def _garbage(generator: np.random.Generator) -> Attempt:
    if generator.integers(2):
        return Attempt("garbage", generator.bytes(int(generator.integers(1, 300))) + b"\r\n\r\n")
    return Attempt("garbage", _pick(generator, GARBAGE))


def _leaving(generator: np.random.Generator) -> Attempt:
    good = _cluster(generator) if generator.integers(2) else _table(generator)
    manner: Manner = "leave" if generator.integers(2) else "leave early"
    return Attempt("leaving", good.data, manner)


def _slow(generator: np.random.Generator) -> Attempt:
    data = request("GET", "/api/limits") if generator.integers(2) else _cluster(generator).data
    return Attempt("slow", data, "trickle")
