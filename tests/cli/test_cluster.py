import csv
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

import coterie
from coterie import cli
from coterie.cli.app import app
from coterie.cli.options import Ending
from coterie.data.tables import delimited
from coterie.inference import restarts
from coterie.inference.endings import ENDINGS

IRIS = Path(__file__).parents[2] / "examples" / "iris_petals.csv"


@pytest.fixture
def run():
    def run(*arguments):
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(app, words, prog_name="coterie")

    return run


@pytest.fixture
def table(blobs, tmp_path):
    """The clusters that nobody can miss, in a file with a column of text."""
    path = tmp_path / "blobs.csv"
    lines = [f"{x!r},[b]{n}[/b],{y!r}" for n, (x, y) in enumerate(blobs.points.tolist())]
    path.write_text("\n".join(["x,[red]name,y", *lines]) + "\n")
    return path


def refused(result):
    """The one line on stderr of a command that said no."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("coterie: ")
    return line


def test_the_summary_says_what_was_found(run, table, blobs):
    result = run("cluster", table)
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert lines[0][:2] == ["3", "clusters"]
    assert ["rows", "300"] in lines
    assert ["columns", "x,", "y"] in lines
    assert "dropped   [red]name: text, '[b]0[/b]' in row 1" in result.stdout
    clusters = [line for line in lines if line[0] in {"0", "1", "2"}]
    assert [line[1] for line in clusters] == ["150", "100", "50"]
    assert [line[2] for line in clusters] == ["50.0%", "33.3%", "16.7%"]
    confidence = coterie.AMCP().fit(blobs.points).clustering_.confidence
    means = [confidence[blobs.labels == cluster].mean() for cluster in range(3)]
    assert [line[-1] for line in clusters] == [f"{mean:.3f}" for mean in means]
    assert result.stderr == ""


def test_json_is_one_object_and_agrees_with_the_estimator(run, table, blobs):
    result = run("cluster", table, "--json")
    summary = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert result.stderr == ""
    assert summary["n_clusters"] == 3
    assert [cluster["size"] for cluster in summary["clusters"]] == [150, 100, 50]
    assert summary["rows"] == 300
    assert summary["columns"] == ["x", "y"]
    assert summary["left_out"][0]["name"] == "[red]name"
    assert summary["labels"] is summary["picture"] is summary["report"] is None
    assert summary["fitted_rows"] == 300
    assert summary["notes"] == []
    model = coterie.AMCP().fit(blobs.points)
    assert summary["mean_log_likelihood"] == pytest.approx(model.clustering_.log_likelihood)


def test_labels_and_picture_are_written_into_new_folders(run, table, blobs, tmp_path):
    labels, picture = tmp_path / "a" / "b" / "labels.csv", tmp_path / "c" / "steps.png"
    result = run("cluster", table, "--out", labels, "--plot", picture)
    assert result.exit_code == 0, result.output
    before, after = table.read_text().splitlines(), labels.read_text().splitlines()
    assert after[0] == before[0] + ",cluster,confidence"
    rows = list(csv.DictReader(after))
    assert [row["cluster"] for row in rows] == [str(label) for label in blobs.labels]
    written = [float(row["confidence"]) for row in rows]
    np.testing.assert_allclose(
        written, coterie.AMCP().fit(blobs.points).clustering_.confidence, atol=1e-4
    )
    assert min(written) > 0.95
    assert all(line.startswith(old + ",") for old, line in zip(before, after, strict=True))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"labels    {labels}" in result.stdout
    assert f"picture   {picture}" in result.stdout


def test_a_folder_of_images_is_clustered_and_written_by_name(run, tmp_path):
    random, folder = np.random.default_rng(0), tmp_path / "images"
    folder.mkdir()
    for number in range(40):
        pixels = random.integers(0, 40, (9, 9), dtype=np.uint8)
        pixels[:, 4 * (number % 2) : 4 * (number % 2) + 5] += 200  # left or right
        Image.fromarray(pixels).save(folder / f"{number:02}.png")
    labels, report = tmp_path / "labels.csv", tmp_path / "report.html"
    result = run("cluster", folder, "--out", labels, "--report", report)
    assert result.exit_code == 0, result.output
    assert "columns   256: mixture 1, mixture 2, mixture 3, ..., mixture 256" in result.stdout
    rows = list(csv.DictReader(labels.read_text().splitlines()))
    assert [row["file"] for row in rows] == [f"{number:02}.png" for number in range(40)]
    assert list(rows[0]) == ["file", "cluster", "confidence"]
    assert [row["cluster"] == rows[0]["cluster"] for row in rows] == [True, False] * 20
    page = report.read_text()
    assert "17.png" in page
    assert page.count("data:image/png;base64,") >= 2 * 8 * 2  # in the summary and on the cards


def test_a_folder_that_cannot_be_clustered_is_refused(run, tmp_path):
    assert "is a folder without images" in refused(run("cluster", tmp_path))
    (tmp_path / "a.png").write_bytes(b"nothing")
    assert "a.png cannot be read as an image" in refused(run("cluster", tmp_path))
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    line = refused(run("cluster", tmp_path, "--out", tmp_path / "labels.npy"))
    assert "cannot write labels.npy; a table must end in .csv, " in line


def test_a_projection_is_a_note_and_no_python_warning(run, tmp_path):
    path = tmp_path / "wide.csv"
    rows = np.random.default_rng(0).normal(size=(30, 17))
    header = ",".join("abcdefghijklmnopq")
    np.savetxt(path, rows, delimiter=",", header=header, comments="")
    result = run("cluster", path)
    notes = [line for line in result.stdout.splitlines() if line.startswith("note")]
    assert len(notes) == 1
    assert "principal components" in notes[0]
    assert "UserWarning" not in result.output
    assert result.stderr == ""
    summary = json.loads(run("cluster", path, "--json").stdout)
    assert len(summary["notes"]) == 1


def test_any_other_user_warning_is_a_note_too(run, table, monkeypatch):
    fit = coterie.AMCP.fit

    def warning_fit(model, X):
        warnings.warn("mind the gap", UserWarning, stacklevel=1)
        return fit(model, X)

    monkeypatch.setattr(coterie.AMCP, "fit", warning_fit)
    assert json.loads(run("cluster", table, "--json").stdout)["notes"] == ["mind the gap"]


def test_without_consolidation_the_network_has_the_last_word(run):
    points = np.loadtxt(IRIS, delimiter=",", skiprows=1, usecols=(0, 1))
    weights = "amcp-mog2d"
    found = {}
    for ending, *options in (
        ("auto", []),
        ("consolidate", ["--ending", "consolidate"]),
        ("em", ["--ending", "em"]),
        ("network", ["--ending", "network"], ["--no-consolidate"]),
    ):
        sizes = np.bincount(coterie.AMCP(weights, ending=ending).fit(points).labels_).tolist()
        found[ending] = sizes
        for option in options:
            asked = ("--weights", weights, "--exclude", "species", "--json")
            result = run("cluster", IRIS, *asked, *option)
            summary = json.loads(result.stdout)
            assert [cluster["size"] for cluster in summary["clusters"]] == sizes
    assert found["auto"] == found["consolidate"]
    assert found["network"] != found["consolidate"]


def test_endings_are_those_of_the_package():
    assert tuple(Ending) == ENDINGS


def test_an_ending_that_the_weights_do_not_have_is_refused_in_one_line(run, table):
    line = refused(run("cluster", table, "--weights", "amcp-warped2d", "--ending", "consolidate"))
    assert 'ending="consolidate" needs clusters with a Gaussian density' in line


def test_an_unknown_ending_is_refused(run, table):
    line = refused(run("cluster", table, "--ending", "happily"))
    assert "'happily'" in line
    assert all(ending in line for ending in ENDINGS)


def test_the_seed_reaches_the_estimator(run, table, monkeypatch):
    seeds = []
    fit = coterie.AMCP.fit
    monkeypatch.setattr(
        coterie.AMCP, "fit", lambda model, X: seeds.append(model.random_state) or fit(model, X)
    )
    run("cluster", table)
    run("cluster", table, "--seed", "7")
    assert seeds == [None, 7]


def test_bad_input_is_refused_in_one_line(run, table, tmp_path):
    hole = tmp_path / "hole.csv"
    hole.write_text("x,y\n1,2\n3,inf\n")
    assert "no file absent.csv" in refused(run("cluster", "absent.csv"))
    assert "row 2, counted without the header, column 'y'" in refused(run("cluster", hole))
    shipped = ", ".join(sorted(model.name for model in coterie.models()))
    assert f"no model 'nothing'; shipped: {shipped}; or give" in refused(
        run("cluster", table, "--weights", "nothing")
    )
    assert "Invalid value for '--seed'" in refused(run("cluster", table, "--seed", "-1"))
    assert "a picture must end in .png" in refused(run("cluster", table, "--plot", "picture.txt"))
    assert "is the input file" in refused(run("cluster", table, "--out", table))
    huge = tmp_path / "huge.csv"
    huge.write_text("x\n1e200\n")
    assert "beyond" in refused(run("cluster", huge))


def test_labels_cannot_go_where_a_file_stands_as_a_folder(run, table):
    assert str(table) in refused(run("cluster", table, "--out", table / "labels.csv"))


def test_an_input_that_has_clusters_already_is_not_overwritten(run, tmp_path):
    path = tmp_path / "labelled.csv"
    path.write_text("x,cluster\n1,a\n2,b\n")
    target = tmp_path / "labels.csv"
    assert "already has a column 'cluster'" in refused(run("cluster", path, "--out", target))
    assert not target.exists()


def test_wrong_usage_is_one_line_too(run):
    line = "coterie: Missing argument 'FILE'. (see coterie cluster --help)"
    assert refused(run("cluster")) == line
    assert "No such option: --frobnicate" in refused(run("cluster", IRIS, "--frobnicate"))
    assert "Invalid value for '--seed'" in refused(run("cluster", IRIS, "--seed", "x"))
    assert "No such command 'clutser'" in refused(run("clutser"))


@pytest.mark.parametrize(
    ("module", "extra", "options"),
    [
        ("polars", "io", []),
        ("pyarrow", "io", []),
        ("matplotlib.figure", "plot", ["--plot", "picture.png"]),
    ],
)
def test_a_missing_extra_is_named(run, table, monkeypatch, module, extra, options):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "coterie.plots", raising=False)
    monkeypatch.delattr(coterie, "plots", raising=False)
    assert f"pip install 'coterie[{extra}]'" in refused(run("cluster", table, *options))


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_without_the_cli_extra_main_names_it(monkeypatch, capsys, module):
    for name in [name for name in sys.modules if name.startswith("coterie.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    for attribute in [name for name, value in vars(cli).items() if isinstance(value, ModuleType)]:
        if vars(cli)[attribute].__name__.startswith("coterie.cli."):
            monkeypatch.delattr(cli, attribute)
    with pytest.raises(SystemExit) as info:
        cli.main()
    assert info.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"coterie: the command line needs {module}: pip install 'coterie[cli]'"


def test_a_defect_of_ours_is_not_hidden(run, table, monkeypatch):
    monkeypatch.setattr(coterie.AMCP, "fit", lambda model, X: 1 / 0)
    assert isinstance(run("cluster", table).exception, ZeroDivisionError)


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["cluster"],
        ["predict"],
        ["compare"],
        ["train"],
        ["tune"],
        ["models"],
    ],
    ids=" ".join,
)
def test_every_help_has_an_example(run, command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert f"Example: coterie {' '.join(command)}" in " ".join(result.stdout.split())


@pytest.mark.parametrize("command", ["cluster", "predict", "compare", "train", "serve"])
def test_help_leaves_room_for_its_words_in_a_narrow_terminal(command):
    terminal = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}
    help_text = CliRunner().invoke(app, [command, "--help"], env=terminal).stdout
    options = [line for line in help_text.split("\n") if "  --" in line[:6] or "│ --" in line[:6]]
    assert len(options) > 3
    begins = [re.search(r"  [A-Z][a-z]", line) for line in options]
    assert max(match.start() for match in begins if match) < 45


def test_the_version_is_said(run):
    assert run("--version").stdout == f"coterie {coterie.__version__}\n"


def in_a_process(*arguments, prelude="pass"):
    code = f"import sys; {prelude}; from coterie.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


def test_a_process_exits_with_2_and_one_line_and_no_traceback():
    done = in_a_process("cluster", "absent.csv")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "coterie: no file absent.csv\n"


def test_help_does_not_wait_for_torch():
    forbid = "[sys.modules.__setitem__(name, None) for name in ('torch', 'sklearn', 'numpy')]"
    done = in_a_process("--help", prelude=forbid)
    assert done.returncode == 0, done.stderr
    assert "cluster" in done.stdout


def test_every_format_comes_back_as_it_came(run, blobs, tmp_path):
    frame = pl.DataFrame({"who": [f"p{i}" for i in range(300)]}).hstack(
        pl.DataFrame(blobs.points, schema=["x", "y"])
    )
    frame.write_parquet(tmp_path / "in.parquet")
    frame.write_ipc(tmp_path / "in.arrow")
    frame.write_csv(tmp_path / "in.tsv", separator="\t")
    np.save(tmp_path / "in.npy", blobs.points)
    np.savez(tmp_path / "in.npz", X=blobs.points, y=blobs.labels)
    for suffix in ("parquet", "arrow", "tsv", "npy", "npz"):
        target = tmp_path / f"out.{suffix}"
        result = run("cluster", tmp_path / f"in.{suffix}", "--out", target, "--json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["n_clusters"] == 3
    read = {
        "parquet": pl.read_parquet(tmp_path / "out.parquet"),
        "arrow": pl.read_ipc(tmp_path / "out.arrow"),
        "tsv": pl.read_csv(tmp_path / "out.tsv", separator="\t"),
    }
    for written in read.values():
        assert written.columns == ["who", "x", "y", "cluster", "confidence"]
        assert written["who"].to_list() == frame["who"].to_list()
        assert written["cluster"].to_list() == blobs.labels.tolist()
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy")[:, 2], blobs.labels)
    with np.load(tmp_path / "out.npz") as written:
        np.testing.assert_array_equal(written["cluster"], blobs.labels)


def test_columns_are_chosen_and_what_is_left_out_is_said(run, table, tmp_path):
    path = tmp_path / "more.csv"
    lines = table.read_text().splitlines()
    path.write_text("\n".join([f"id,{lines[0]}", *(f"{i},{x}" for i, x in enumerate(lines[1:]))]))
    out = run("cluster", path).stdout
    assert "dropped   id: identifies the rows" in out
    assert "note      columns that identify the rows are left out" in " ".join(out.split("\n"))
    for options in ([], ["--id", "id"], ["--exclude", "id"], ["--columns", "x,y"]):
        summary = json.loads(run("cluster", path, "--json", *options).stdout)
        assert summary["columns"] == ["x", "y"]
        assert summary["left_out"][0]["name"] == "id"
        assert [cluster["size"] for cluster in summary["clusters"]] == [150, 100, 50]
    assert "no column 'z'" in refused(run("cluster", path, "--columns", "z"))


def test_standard_input_to_standard_output(table, blobs):
    arguments = ["cluster", "-", "--out", "-"]
    done = CliRunner().invoke(app, arguments, input=table.read_text())
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["cluster"] for row in rows] == [str(label) for label in blobs.labels]
    assert "3 clusters in standard input" in done.stderr


def test_a_long_file_is_streamed(run, blobs, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 5000)
    generator = np.random.default_rng(0)
    chosen = generator.integers(300, size=3000)
    points = blobs.points[chosen] + generator.normal(0, 0.01, (3000, 2))
    path = tmp_path / "long.csv"
    np.savetxt(path, points, delimiter=",", header="x,y", comments="")
    fitted = []
    fit = coterie.AMCP.fit_drawn
    monkeypatch.setattr(
        coterie.AMCP,
        "fit_drawn",
        lambda model, X, n_rows: fitted.append((len(X), n_rows)) or fit(model, X, n_rows),
    )
    target, report = tmp_path / "out.csv", tmp_path / "report.html"
    result = run("cluster", path, "--sample", 200, "--out", target, "--report", report, "--json")
    summary = json.loads(result.stdout)
    assert fitted == [(200, 3000)]
    assert (summary["rows"], summary["fitted_rows"]) == (3000, 200)
    sizes = np.bincount(blobs.labels[chosen])
    assert [cluster["size"] for cluster in summary["clusters"]] == sizes.tolist()
    written = np.genfromtxt(target, delimiter=",", skip_header=1)
    np.testing.assert_array_equal(written[:, 2], blobs.labels[chosen])
    assert "a sample of 200 of 3,000 rows" in report.read_text()
    assert "a random sample of 200 in memory" in run("cluster", path, "--sample", 200).stdout


def test_on_how_many_rows_the_clusters_were_found_is_true(run, blobs, tmp_path, monkeypatch):
    """The network sees no more rows than its context has, however many are read."""
    seen = []
    find = restarts.find_clusters
    monkeypatch.setattr(
        restarts,
        "find_clusters",
        lambda system, batch, **rest: (
            seen.append(int(batch.mask.sum())) or find(system, batch, **rest)
        ),
    )
    random = np.random.default_rng(0)
    points = blobs.points[random.integers(300, size=4000)] + random.normal(0, 0.05, (4000, 2))
    path = tmp_path / "many.csv"
    np.savetxt(path, points, delimiter=",", header="x,y", comments="")
    summary = json.loads(run("cluster", path, "--sample", 3000, "--json").stdout)
    assert (summary["rows"], summary["read_rows"], summary["fitted_rows"]) == (4000, 3000, 2000)
    assert seen[0] == 2000
    words = "rows      4,000, a random sample of 3,000 in memory, clusters found on"
    assert f"{words} samples of 2,000 of them" in run("cluster", path, "--sample", 3000).stdout
    assert coterie.AMCP().fit(points).clustering_.context_size == 2000
    assert coterie.AMCP().fit(points[:500]).clustering_.context_size == 500


@pytest.fixture
def gappy(blobs, tmp_path):
    """The clusters with a gap in every twentieth row, an empty column, and the same as a frame."""
    values = blobs.points.copy()
    values[::20, 1] = np.nan
    frame = pl.DataFrame(values, schema=["x", "y"]).with_columns(
        pl.col("y").fill_nan(None), pl.lit(None, pl.Float64).alias("empty")
    )
    frame.write_csv(tmp_path / "gappy.csv")
    frame.write_csv(tmp_path / "gappy.tsv", separator="\t")
    frame.write_parquet(tmp_path / "gappy.parquet")
    frame.write_ipc(tmp_path / "gappy.arrow")
    np.save(tmp_path / "gappy.npy", frame.to_numpy())
    return frame


FILLED = "missing values filled with the median: {} (15 values)"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow", "npy"])
def test_gaps_in_a_file_are_filled_as_those_of_a_data_frame(run, gappy, tmp_path, suffix):
    path, target = tmp_path / f"gappy.{suffix}", tmp_path / f"labels.{suffix}"
    result = run("cluster", path, "--out", target, "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    x, y, empty = ("x1", "x2", "x3") if suffix == "npy" else gappy.columns
    assert summary["columns"] == [x, y]
    assert summary["left_out"] == [{"name": empty, "reason": "no values"}]
    assert summary["filled"] == [{"name": y, "gaps": 15, "median": gappy["y"].median()}]
    assert summary["notes"] == [FILLED.format(repr(y))]
    with pytest.warns(UserWarning) as caught:  # noqa: PT030, two kinds of it
        labels = coterie.cluster(gappy)
    assert FILLED.format("'y'") in [str(each.message) for each in caught]
    if suffix == "npy":
        written = np.load(target)
        np.testing.assert_array_equal(written[:, :3], gappy.to_numpy())
        np.testing.assert_array_equal(written[:, 3], labels)
    else:
        read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "csv": pl.read_csv}
        written = read.get(suffix, lambda p: pl.read_csv(p, separator="\t"))(target)
        assert written["y"].to_list() == gappy["y"].to_list()
        assert written["cluster"].to_list() == labels.tolist()


def test_gaps_are_said_to_people_and_in_the_report(run, gappy, tmp_path):
    report, picture = tmp_path / "report.html", tmp_path / "steps.png"
    result = run("cluster", tmp_path / "gappy.csv", "--report", report, "--plot", picture)
    assert result.exit_code == 0, result.output
    assert f"note      {FILLED.format(repr('y'))}" in result.stdout
    assert "dropped   empty: no values" in result.stdout
    assert "missing values filled with the median" in report.read_text()
    assert picture.is_file()


def test_gaps_of_a_streamed_file_are_filled_from_the_sample(run, blobs, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 2000)
    chosen = np.random.default_rng(0).integers(300, size=2000)
    # The second column tells the clusters apart; the first only says little, and has the gaps.
    cells = [
        ["" if row % 3 == 0 else repr(x / 1000), repr(y), repr(x)]
        for row, (x, y) in enumerate(blobs.points[chosen].tolist())
    ]
    path, target = tmp_path / "long.csv", tmp_path / "labels.csv"
    path.write_text("z,y,x\n" + "".join(",".join(line) + "\n" for line in cells))
    result = run("cluster", path, "--sample", 200, "--weights", "amcp-universal", "--out", target)
    assert result.exit_code == 0, result.output
    note = "filled with the median of a sample of 200 rows: 'z' (667 values)"
    assert note in result.stdout
    with target.open() as file:
        rows = list(csv.DictReader(file))
    assert [[row["z"], row["y"], row["x"]] for row in rows] == cells
    assert all(row["cluster"].isdigit() for row in rows)
    assert len(rows) == 2000


def test_text_is_left_out_of_a_file_and_no_column_to_ask_for(run, table):
    assert "dropped   [red]name: text" in run("cluster", table).stdout
    line = refused(run("cluster", table, "--columns", "x,[red]name"))
    assert (
        "column '[red]name' cannot be used for clustering: 300 different values in 300 rows" in line
    )


def test_the_report_is_written_with_the_command_that_made_it(run, table, tmp_path):
    report = tmp_path / "new" / "report.html"
    result = run("cluster", table, "--report", report, "--seed", "3")
    assert f"report    {report}" in result.stdout
    page = report.read_text()
    command = f"coterie cluster {table} --report {report} --seed 3"
    assert f"<code>{command}</code>" in page
    assert "[red]name: text, &#x27;[b]0[/b]&#x27; in row 1" in page
    assert "<td>[b]" in page


def test_a_report_names_the_rows_by_their_id(run, table, tmp_path):
    report = tmp_path / "report.html"
    run("cluster", table, "--report", report, "--id", "[red]name")
    assert "[red]name: identifies the rows" in report.read_text()


def test_how_a_text_file_is_read_is_said(run, blobs, tmp_path):
    path = tmp_path / "europe.csv"
    lines = [f"{x:.4f};{y:.4f}".replace(".", ",") for x, y in blobs.points.tolist()]
    path.write_bytes("\n".join(["größe;y", *lines]).encode("latin-1"))
    summary = json.loads(run("cluster", path, "--json").stdout)
    assert summary["columns"] == ["größe", "y"]
    assert summary["n_clusters"] == 3
    words = "separated by semicolons, decimal comma, header, Windows-1252"
    assert summary["read_as"] == {
        "separator": ";",
        "decimal": ",",
        "header": True,
        "encoding": "cp1252",
        "summary": words,
    }
    assert f"read as   {words}" in run("cluster", path).stdout
    assert f"read as   {words}" in run("compare", path, "--max-clusters", "2").stdout


def test_how_a_text_file_is_read_may_be_stated(run, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1,234;2\n3,456;4\n")
    stated = ("--sep", ";", "--decimal", ".", "--header", "--encoding", "latin-1")
    summary = json.loads(run("cluster", path, "--json", *stated).stdout)
    assert summary["columns"] == ["1,234", "2"]
    assert summary["read_as"]["encoding"] == "iso8859-1"
    assert json.loads(run("cluster", path, "--json", "--no-header").stdout)["columns"] == [
        "x1",
        "x2",
    ]
    assert "the decimal sign must be . or ," in refused(run("cluster", path, "--decimal", "x"))
    assert "as in --encoding latin-1" in refused(
        run("cluster", _latin(path), "--encoding", "utf-8")
    )


def _latin(path):
    path.write_bytes("größe;y\n1;2\n".encode("latin-1"))
    return path


def test_outputs_that_cannot_be_are_refused_before_the_work(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr(coterie.AMCP, "fit", lambda model, X: 1 / 0)
    assert "a table must end in .csv" in refused(
        run("cluster", table, "--out", tmp_path / "out.npy")
    )
    assert "a report must end in .html" in refused(run("cluster", table, "--report", "report.pdf"))
    assert "is a folder" in refused(run("cluster", table, "--out", tmp_path))
    assert "the input file" in refused(run("cluster", table, "--plot", _as(table, "t.png")))
    same = tmp_path / "same.html"
    assert "--json and --out -" in refused(run("cluster", table, "--out", "-", "--json"))
    assert not same.exists()


def _as(table, name):
    """The table under another name."""
    link = table.with_name(name)
    link.symlink_to(table)
    return link


def found(result):
    """Of a summary in JSON: the sizes of the clusters, and how many rows are noise."""
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    return [cluster["size"] for cluster in summary["clusters"]], summary["noise"]


@pytest.mark.parametrize("weights", ["amcp-universal", "amcp-mog2d", "amcp-warped2d", "dac-mog2d"])
@pytest.mark.parametrize(("asked", "low", "high"), [("5", 5, 5), ("1", 1, 1), ("4:9", 4, 9)])
def test_the_number_of_clusters_is_obeyed(run, table, weights, asked, low, high):
    result = run("cluster", table, "--weights", weights, "--n-clusters", asked, "--json")
    sizes, noise = found(result)
    assert low <= len(sizes) <= high
    assert (sum(sizes), noise) == (300, 0)


def test_small_clusters_are_dissolved(run, table):
    assert found(run("cluster", table, "--json", "--min-cluster-size", "60"))[0][-1] >= 60


def test_constraints_that_cannot_hold_are_refused_in_one_line(run, table):
    words = ("--n-clusters", "20", "--min-cluster-size", "20")
    assert "needs 400 rows, but there are 300" in refused(run("cluster", table, *words))
    assert "n_clusters=301 exceeds the number of rows" in refused(
        run("cluster", table, "--n-clusters", "301")
    )


@pytest.fixture
def strays(blobs, tmp_path):
    """The clusters that nobody can miss, and three rows that belong to none of them."""
    path = tmp_path / "strays.csv"
    points = [*blobs.points.tolist(), [10, 10], [-9, 9], [0, 0]]
    path.write_text("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in points))
    return path


@pytest.mark.parametrize("sample", [(), ("--sample", "250")])
def test_noise_is_written_and_told(run, strays, tmp_path, sample):
    out, report, plot = (tmp_path / name for name in ("o.csv", "r.html", "p.png"))
    asked = ("--weights", "amcp-mog2d", "--noise", "--min-cluster-size", "5", *sample)
    result = run("cluster", strays, *asked, "--out", out, "--report", report, "--plot", plot)
    assert result.exit_code == 0, result.output
    rows = pl.read_csv(out)
    assert rows["cluster"].to_list()[-3:] == [-1, -1, -1]
    assert rows["confidence"].to_list()[-3:] == [0, 0, 0]
    n_noise = int((rows["cluster"] == -1).sum())
    assert n_noise < 10
    told = f"noise     {n_noise} outliers, {n_noise / 303:.1%}: cluster -1"
    assert told in result.stdout
    assert ">noise</th>" in report.read_text()
    assert plot.stat().st_size > 0
    sizes, noise = found(run("cluster", strays, *asked, "--json"))
    assert noise == n_noise
    assert sum(sizes) == 303 - noise
    assert (
        sizes
        == rows["cluster"]
        .value_counts()
        .filter(pl.col("cluster") >= 0)
        .sort("cluster")["count"]
        .to_list()
    )


def test_where_all_rows_have_a_cluster_nothing_is_said_of_others(run, table):
    result = run("cluster", table)
    assert "noise" not in result.stdout
    assert found(run("cluster", table, "--json"))[1] == 0


def test_what_a_file_says_does_not_control_the_terminal(run, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,\x1b[31mred,\x1b]0;title\x07\n1,2,\x1b[2Jtext\n3,4,b\n")
    for command in (["cluster", path], ["compare", path], ["cluster", path, "--columns", "\x1b"]):
        result = run(*command)
        assert "\x1b" not in result.output
        assert "\x07" not in result.output
    assert r"\x1b[31mred" in run("cluster", path).stdout


def test_a_file_name_that_is_not_utf8_is_read_and_shown(run, table, tmp_path):
    odd = table.rename(tmp_path / os.fsdecode(b"caf\xe9.csv"))
    result = run("cluster", odd, "--report", tmp_path / "r.html", "--out", tmp_path / "o.csv")
    assert result.exit_code == 0, result.output
    assert r"caf\udce9.csv" in result.stdout
    assert r"caf\udce9.csv" in (tmp_path / "r.html").read_text()


def test_new_folders_are_said(run, table, tmp_path):
    report = tmp_path / "new" / "report.html"
    assert f"folder    {report.parent} (new)" in run("cluster", table, "--report", report).stdout
    again = json.loads(run("cluster", table, "--report", report, "--json").stdout)
    assert again["new_folders"] == []


def test_a_reader_that_has_enough_ends_the_command_quietly(blobs, tmp_path):
    path = tmp_path / "long.csv"
    points = np.tile(blobs.points, (40, 1)).tolist()
    path.write_text("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in points))
    code = "import sys; from coterie.cli import main; main()"
    command = [sys.executable, "-c", code, "cluster", str(path), "--out", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 141
    assert errors == b""


def test_several_files_are_one_table(run, table, blobs, tmp_path):
    lines = table.read_text().splitlines()
    parts = [tmp_path / name for name in ("jan.csv", "feb.csv")]
    for part, rows in zip(parts, (lines[1:101], lines[101:]), strict=True):
        part.write_text("\n".join([lines[0], *rows]))
    out = tmp_path / "out.parquet"
    result = run("cluster", *parts, "--out", out, "--report", tmp_path / "r.html", "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["file"] == f"{parts[0]} and 1 more"
    assert summary["files"] == [str(part) for part in parts]
    assert summary["rows"] == 300
    assert pl.read_parquet(out)["cluster"].to_list() == blobs.labels.tolist()
    assert f"coterie cluster {parts[0]} {parts[1]} --out" in (tmp_path / "r.html").read_text()
    assert "is the input file" in refused(run("cluster", *parts, "--out", parts[1]))
    parts[1].write_text("x,z\n1,2\n")
    assert f"{parts[1]} has no column" in refused(run("cluster", *parts))


def test_labels_alone_go_to_any_format_and_to_standard_output(run, table, blobs, tmp_path):
    words = ("cluster", table, "--labels-only", "--id", "[red]name", "--out")
    result = run(*words, "-")
    header, first = result.stdout.splitlines()[:2]
    assert header == "[red]name,cluster,confidence"
    name, cluster, confidence = first.split(",")
    assert (name, cluster) == ("[b]0[/b]", str(blobs.labels[0]))
    assert float(confidence) > 0.9
    for name in ("out.xlsx", "out.jsonl.gz"):
        assert run(*words, tmp_path / name).exit_code == 0
    found = pl.read_excel(tmp_path / "out.xlsx")
    assert found.columns == ["[red]name", "cluster", "confidence"]
    assert found["cluster"].to_list() == blobs.labels.tolist()


def test_formulas_of_a_file_are_not_handed_on_to_a_spreadsheet(run, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_text("x,note\n1,=cmd()\n2,b\n")
    run("cluster", path, "--out", out)
    assert out.read_text().splitlines()[1].startswith("1,'=cmd(),0")
    run("cluster", path, "--out", out, "--keep-formulas")
    assert out.read_text().splitlines()[1].startswith("1,=cmd(),0")
