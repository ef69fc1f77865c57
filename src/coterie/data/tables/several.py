"""Several files of the same columns as one table, one after the other."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from coterie.data.tables.columnar import Columnar
from coterie.data.tables.delimited import Delimited
from coterie.data.tables.dialect import Dialect
from coterie.data.tables.files import opened
from coterie.data.tables.in_memory import FrameFile
from coterie.data.tables.numerals import POINT
from coterie.data.tables.table import Batch, Source, SourceError, Writer

KINDS = (Delimited, Columnar, FrameFile)


class Several:
    """The rows of all sources; what is written has the format of the first."""

    def __init__(self, sources: Sequence[Source]) -> None:
        first = self.first = sources[0]
        self._sources = sources
        self.name = f"{first.name} and {len(sources) - 1} more"
        self.columns, self.aside, self.suffixes = first.columns, first.aside, first.suffixes
        self.text_is_data = first.text_is_data
        for source in sources:
            _refuse_odd(source, first)
        self.dialect = _common_dialect(sources)
        self.numerals = POINT if self.dialect is None else self.dialect.numerals
        remarks = (remark for source in sources for remark in getattr(source, "remarks", ()))
        self.remarks = tuple(dict.fromkeys(remarks))

    def batches(self) -> Iterator[Batch]:
        """The rows, file by file."""
        for number, source in enumerate(self._sources):
            for batch in source.batches():
                yield batch._replace(share=(number + batch.share) / len(self._sources))

    def writer(self, target: Path) -> AbstractContextManager[Writer]:
        return self.first.writer(target)


@contextmanager
def opened_together(paths: Sequence[Path], **stated: Any) -> Iterator[Source]:
    """The table in one file or in several, whose names may be patterns such as 2026-*.csv."""
    files = [each for path in paths for each in _matching(path)]
    with ExitStack() as stack:
        sources = [stack.enter_context(opened(file, **stated)) for file in files]
        yield sources[0] if len(sources) == 1 else Several(sources)


def _matching(path: Path) -> list[Path]:
    if path.exists() or not any(sign in str(path) for sign in "*?["):
        return [path]
    found = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    if not found:
        raise SourceError(f"no file {path}")
    return found


def _common_dialect(sources: Sequence[Source]) -> Dialect | None:
    """The dialect of the first file of text whose numbers have a decimal sign."""
    texts = [source for source in sources if isinstance(source, Delimited)]
    telling = [source for source in texts if source.dialect.says_decimal] or texts[:1]
    for source in telling[1:]:
        ours, theirs = source.numerals.decimal, telling[0].numerals.decimal
        if ours != theirs:
            raise SourceError(
                f"{source.name} has the decimal sign {ours!r}, {telling[0].name} has {theirs!r};"
                " if they are the same, set --decimal"
            )
    return telling[0].dialect if telling else None


def _refuse_odd(source: Source, first: Source) -> None:
    """Raise for a source that does not go with the first, saying how it differs."""
    if not isinstance(source, KINDS):
        raise SourceError(f"{source.name} cannot be one of several files; cluster it alone")
    if type(source) is not type(first):
        raise SourceError(f"{source.name} has another format than {first.name}")
    if source.columns != first.columns:
        ours, theirs = set(source.columns), set(first.columns)
        odd = [
            *(f"no column {name!r}" for name in first.columns if name not in ours),
            *(f"a column {name!r}" for name in source.columns if name not in theirs),
        ]
        said = ", ".join(odd[:5]) or "the same columns in another order"
        raise SourceError(f"{source.name} has {said}, unlike {first.name}")
    schema = getattr(first, "schema", None)
    if schema is not None and not schema.equals(getattr(source, "schema", None)):
        raise SourceError(f"{source.name} has other types of columns than {first.name}")
