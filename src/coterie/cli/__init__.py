"""The command line. Commands import heavy modules when they run, so that --help is instant."""

import sys

from coterie.cli.quick_exit import QuickExit


def program() -> None:
    """The `coterie` command, which is all that its process does."""
    with QuickExit():
        main()


def main() -> None:
    """Run the `coterie` command."""
    try:
        from coterie.cli.app import app
    except KeyboardInterrupt:
        print("coterie: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(
            f"coterie: the command line needs {error.name}: pip install 'coterie[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    app(prog_name="coterie")
