import json

import numpy as np
import pytest
from sklearn.metrics import davies_bouldin_score, silhouette_score
from typer.testing import CliRunner

from coterie.cli.app import app


@pytest.fixture
def run():
    def run(*arguments):
        return CliRunner().invoke(app, ["compare", *(str(argument) for argument in arguments)])

    return run


@pytest.fixture(scope="module")
def table(blobs, tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "blobs.csv"
    rows = [
        f"{x!r},{'abc'[label]},{y!r}"
        for (x, y), label in zip(blobs.points.tolist(), blobs.labels, strict=True)
    ]
    path.write_text("\n".join(["x,kind,y", *rows]) + "\n")
    return path


QUICK = ("--weights", "amcp-mog2d", "--max-clusters", 4)


def test_all_methods_stand_in_one_object(run, table, blobs):
    result = run(table, "--label", "kind", "--json", *QUICK)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["columns"] == ["x", "y"]
    assert found["left_out"] == [{"name": "kind", "reason": "holds the true groups"}]
    rows = {row["method"]: row for row in found["methods"]}
    assert len(rows) >= 5
    ours = rows["amcp-mog2d"]
    assert (ours["n_clusters"], ours["ari"], ours["nmi"], ours["acc"]) == (3, 1, 1, 1)
    assert ours["silhouette"] == pytest.approx(
        silhouette_score(blobs.points, blobs.labels), abs=1e-5
    )
    assert ours["dbi"] == pytest.approx(davies_bouldin_score(blobs.points, blobs.labels), abs=1e-5)
    assert ours["seconds"] > 0
    agreement = np.array(found["agreement"])
    np.testing.assert_allclose(np.diag(agreement), 1)
    np.testing.assert_allclose(agreement, agreement.T)


def test_people_get_one_table(run, table):
    result = run(table, *QUICK)
    assert result.exit_code == 0, result.output
    (header,) = [line for line in result.stdout.splitlines() if line.startswith(" method")]
    assert header.split() == ["method", "k", "agreement", "silhouette", "DBI", "seconds"]
    assert "amcp-mog2d" in result.stdout
    assert "HDBSCAN" in result.stdout
    assert "ARI" not in result.stdout
    assert result.stderr == ""


def test_gaps_are_filled_for_all_methods_alike_and_said(run, table, tmp_path):
    path = tmp_path / "gappy.csv"
    lines = table.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], ",".join(["", *lines[2].split(",")[1:]]), *lines[3:]]))
    note = "missing values filled with the median: 'x' (1 value)"
    assert f"note      {note}" in run(path, *QUICK).stdout
    found = json.loads(run(path, "--json", *QUICK).stdout)
    assert found["notes"] == ["columns encoded as categories: 'kind' (3 of them)", note]
    rest = [float(line.split(",")[0]) for line in (lines[1], *lines[3:])]
    assert found["filled"] == [
        {"name": "x", "gaps": 1, "median": pytest.approx(np.median(rest), abs=1e-12)}
    ]
    assert all(row["refusal"] is None for row in found["methods"])
    without = json.loads(run(table, "--exclude", "kind", "--json", *QUICK).stdout)
    assert without["notes"] == []


def test_a_long_file_is_compared_on_a_sample(run, table):
    result = run(table, "--sample", 100, "--json", *QUICK)
    found = json.loads(result.stdout)
    assert (found["rows"], found["compared_rows"]) == (300, 100)
    assert "compared on a sample of 100" in run(table, "--sample", 100, *QUICK).stdout


def test_a_method_that_refuses_does_not_stop_the_others(run, tmp_path):
    path = tmp_path / "tiny.csv"
    path.write_text("x,y\n1,2\n3,4\n5,1\n")
    result = run(path, *QUICK)
    assert result.exit_code == 0, result.output
    assert "failed:" in result.stdout
    assert "amcp-mog2d" in result.stdout


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--label", "nothing"], "no column 'nothing'"),
        (["--label", "x,y"], "--label takes one column"),
        (["--weights", "nothing"], "no model 'nothing'"),
    ],
)
def test_bad_input_is_refused_in_one_line(run, table, options, complaint):
    result = run(table, *options)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert complaint in line


def test_a_single_row_is_nothing_to_compare(run, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("x\n1\n")
    assert "a comparison needs two or more" in run(path).stderr


def test_without_a_name_the_default_is_compared_with_peers_on_equal_columns(run, table, tmp_path):
    rows = [line.split(",") for line in table.read_text().splitlines()]
    stretched = tmp_path / "stretched.csv"
    lines = [f"{1e4 * float(x)!r},{kind},{y}" for x, kind, y in rows[1:]]
    stretched.write_text("\n".join([",".join(rows[0]), *lines]) + "\n")
    plain, other = (
        json.loads(run(path, "--label", "kind", "--json", "--max-clusters", 4).stdout)
        for path in (table, stretched)
    )
    assert plain["methods"][0]["method"] == "amcp-universal"
    assert len(plain["methods"]) == 5
    for one, two in zip(plain["methods"], other["methods"], strict=True):
        assert (one["n_clusters"], one["ari"]) == (two["n_clusters"], pytest.approx(two["ari"]))
