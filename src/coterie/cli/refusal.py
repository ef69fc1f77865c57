"""Errors of a command: exit code 2 and one line on stderr."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from coterie.cli.interruption import INTERRUPTED, ending_in_words, interrupt
from coterie.cli.printable import printable

BROKEN_PIPE = 141  # 128 plus the number of the signal, as shells expect
EXTRAS = {
    "polars": "io",
    "pyarrow": "io",
    "fastexcel": "excel",
    "xlsxwriter": "excel",
    "PIL": "images",
    "matplotlib": "plot",
    "lightning": "train",
    "optuna": "tune",
    "rich": "cli",
    "fastapi": "playground",
    "uvicorn": "playground",
    "onnx": "onnx",
    "onnxscript": "onnx",
    "huggingface_hub": "hub",
    "dask": "dask",
    "distributed": "dask",
}


def refuse(message: str) -> NoReturn:
    """Exit the command with a one-line message."""
    typer.echo(f"coterie: {printable(' '.join(message.split()))}", err=True)
    raise typer.Exit(2)


@contextmanager
def refusing(wrong: type[ValueError] = ValueError) -> Iterator[None]:
    """Turn user errors into one-line messages: wrong values, files, missing extras."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        refuse(f"this needs {error.name}: pip install 'coterie[{extra}]'")
    except BrokenPipeError:
        raise
    except OSError as error:
        refuse(_in_words(error))
    except wrong as error:
        refuse(str(error))


def _in_words(error: OSError) -> str:
    words = error.strerror or str(error)
    return f"{error.filename}: {words}" if error.filename else words


class OneLineGroup(TyperGroup):
    """A command group that reports usage errors, Ctrl+C and SIGTERM in one line."""

    def make_context(self, *args: Any, **settings: Any) -> Any:
        try:
            return super().make_context(*args, **settings)
        except KeyboardInterrupt as error:
            interrupt(error)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            interrupt(error)
        except BrokenPipeError:
            # The reader of our output, such as head, has enough. What is still buffered would fail
            # again when Python exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except OSError as error:  # such as a full disk
            refuse(_in_words(error))

    def main(self, *args: Any, **settings: Any) -> Any:
        if not settings.get("standalone_mode", True):
            return super().main(*args, **settings)
        try:
            with ending_in_words():
                code = super().main(*args, **{**settings, "standalone_mode": False})
        except typer.Abort:
            code = INTERRUPTED
        except Exception as error:
            # Typer hides the class of its usage errors, but all of them have this method.
            if not hasattr(error, "format_message"):
                raise
            where = getattr(getattr(error, "ctx", None), "command_path", "coterie")
            message = " ".join(error.format_message().split())
            if message:  # empty if the help was printed because there were no arguments
                typer.echo(f"coterie: {printable(message)} (see {where} --help)", err=True)
            code = 2
        raise SystemExit(code if isinstance(code, int) else 0)
