from typing import Annotated

import typer
from typer.testing import CliRunner

from coterie.cli.invocation import command_line


def test_the_command_is_said_as_it_was_given():
    said = []
    app = typer.Typer()

    @app.command()
    def work(
        context: typer.Context,
        file: str,
        name: Annotated[list[str] | None, typer.Option()] = None,
        number: int = 3,
        fast: Annotated[bool, typer.Option("--fast")] = False,
    ):
        said.append(command_line(context))

    runner = CliRunner()
    runner.invoke(app, ["my file.csv"], prog_name="tool work")
    runner.invoke(
        app,
        ["--fast", "--name", "a", "f", "--name", "b c", "--number", "3"],
        prog_name="tool work",
    )
    assert said == [
        "tool work 'my file.csv'",
        "tool work f --name a --name 'b c' --number 3 --fast",
    ]
