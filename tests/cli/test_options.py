import os
import subprocess
import sys
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

import coterie
from coterie.cli.options import command_line, parse_n_clusters, shipped_weights


def test_the_shell_is_told_the_shipped_models():
    names = [model.name for model in coterie.models()]
    assert shipped_weights("") == sorted(names)
    assert shipped_weights("dac") == [name for name in sorted(names) if name.startswith("dac")]


def completions(*words):
    code = (
        "import sys; sys.modules['torch'] = None;"  # the shell waits for nobody
        "from coterie.cli import main; main()"
    )
    environment = os.environ | {
        "_COTERIE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_commands_options_and_models_are_completed():
    assert {"cluster", "compare"} <= set(completions("coterie", "c"))
    assert "--report" in completions("coterie", "cluster", "--re")
    assert completions("coterie", "cluster", "t.csv", "--weights", "dac-m") == ["dac-mog2d"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [(None, None), ("5", 5), ("2:8", (2, 8)), ("3:3", (3, 3)), (" 2 : 8 ", (2, 8))],
)
def test_a_number_or_a_range(text, meant):
    assert parse_n_clusters(text) == meant


@pytest.mark.parametrize("text", ["", "x", "0", "-3", "8:2", "0:4", "2:", ":", "2:3:4", "2.5"])
def test_anything_else_is_refused_in_one_line(text, capsys):
    with pytest.raises(typer.Exit) as info:
        parse_n_clusters(text)
    assert info.value.exit_code == 2
    assert capsys.readouterr().err.count("\n") == 1


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
