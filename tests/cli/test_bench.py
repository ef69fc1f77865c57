from typer.testing import CliRunner

from coterie.cli.app import app


def test_the_old_command_says_where_the_benchmarks_are():
    result = CliRunner().invoke(app, ["bench", "mog", "--sets", "5"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("run there: python benchmarks mog --sets 5\n")
