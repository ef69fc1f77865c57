"""`coterie cluster --engine dask`: a labelled file for each partition, whole or not there."""

import json
import os
import signal
import socket
import warnings
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import coterie
from coterie.cli.app import app
from coterie.dask import cluster as engine
from coterie.dask import connecting
from coterie.dask.output_folder import MANIFEST
from coterie.dask.parquet import _counted

pytestmark = [
    pytest.mark.xdist_group("dask cluster"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

SMALL = ["--weights", "amcp-universal-small"]


@pytest.fixture
def folder(values, tmp_path):
    """Five files of different sizes, one without rows, with a text column beside the numbers."""
    source = tmp_path / "in"
    source.mkdir()
    for number, part in enumerate(np.split(values, [1000, 1001, 4000, 4000])):
        columns = dict(zip("abc", part.T, strict=True))
        names = pa.array([f"row {row}" for row in range(len(part))], pa.string())
        table = pa.table({**columns, "name": names})
        pq.write_table(table, source / f"part-{number}.parquet", compression="none")
    return source


@pytest.fixture
def run(client, folder, tmp_path):
    def run(*options, pattern=None, out="out", scheduler=client.scheduler.address):
        words = ["cluster", pattern or str(folder / "*.parquet"), "--engine", "dask", *SMALL]
        words += ["--scheduler", scheduler] if scheduler else []
        words += ["--out", str(tmp_path / out), *options]
        return CliRunner().invoke(app, words)

    return run


def labelled(folder):
    files = sorted(folder.glob("*.parquet"))
    return pa.concat_tables([pq.read_table(file) for file in files])


def test_every_file_is_written_with_its_labels(run, folder, values, tmp_path):
    result = run("--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    written = labelled(tmp_path / "out")
    assert written.column_names == ["a", "b", "c", "name", "cluster", "confidence"]
    expected = coterie.AMCP("amcp-universal-small").fit(values)
    assert (written["cluster"].to_numpy() == expected.labels_).all()
    np.testing.assert_allclose(
        written["confidence"].to_numpy(), expected.clustering_.confidence, atol=1e-6
    )
    assert [each["size"] for each in told["clusters"]] == np.bincount(expected.labels_).tolist()
    assert told["rows"] == 6000
    assert told["left_out"] == [{"name": "name", "reason": "not numbers but string"}]
    for file in folder.iterdir():
        assert pq.read_metadata(tmp_path / "out" / file.name).num_rows == (
            pq.read_metadata(file).num_rows
        )


def test_workers_of_this_machine_give_the_same_labels(run, tmp_path):
    with socket.socket() as taken, warnings.catch_warnings():
        warnings.filterwarnings("error", message="Port")  # dask would warn of it
        with suppress(OSError):  # somebody else has it
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        own, other = run(scheduler=None), run(out="other")
    assert own.exit_code == 0, own.output
    assert other.exit_code == 0, other.output
    assert labelled(tmp_path / "out").equals(labelled(tmp_path / "other"))
    assert not [*(tmp_path / "out").glob(".coterie-*")]


def test_a_second_run_goes_on_where_the_first_stopped(run, tmp_path, monkeypatch):
    first = json.loads(run("--json").stdout)
    out = tmp_path / "out"
    written = {file.name: file.stat().st_mtime_ns for file in out.glob("*.parquet")}
    before = labelled(out)
    (out / "part-2.parquet").unlink()
    (out / ".coterie-0123abcd-part-3.parquet").touch()  # a killed worker's
    monkeypatch.setattr("coterie.cli.on_engine.summary", lambda *parts: parts_of(*parts))
    monkeypatch.setattr(engine, "gather_files", None)  # the drawn rows are there
    second = json.loads(run("--json").stdout)
    assert second["labelled_before"] == 4
    assert second["sizes"] == [each["size"] for each in first["clusters"]]
    again = {file.name: file.stat().st_mtime_ns for file in out.glob("*.parquet")}
    assert {name for name in written if again[name] != written[name]} == {"part-2.parquet"}
    assert labelled(out).equals(before)
    assert not [*out.glob(".coterie-*")]


def test_identifiers_are_left_out_and_written_beside_the_labels(run, folder, tmp_path):
    for number, file in enumerate(sorted(folder.iterdir())):
        table = pq.read_table(file)
        order = pa.array(np.arange(table.num_rows) + 10_000 * number)
        pq.write_table(table.append_column("order_id", order), file)
    plain = json.loads(run("--json", "--exclude", "order_id", out="plain").stdout)
    told = json.loads(run("--json").stdout)
    assert told["columns"] == ["a", "b", "c"]
    reasons = {each["name"]: each["reason"] for each in told["left_out"]}
    assert reasons["order_id"] == "identifies the rows, by its name"
    assert told["clusters"] == plain["clusters"]
    assert run("--labels-only", "--id", "order_id", out="short").exit_code == 0
    short, whole = labelled(tmp_path / "short"), labelled(tmp_path / "out")
    assert short.column_names == ["order_id", "cluster", "confidence"]
    assert short.equals(whole.select(short.column_names))


def test_labels_without_confidence_are_the_same(run, tmp_path):
    whole, plain = (
        json.loads(run("--json").stdout),
        json.loads(run("--no-confidence", "--json", out="plain").stdout),
    )
    labels = labelled(tmp_path / "plain")
    assert "confidence" not in labels.column_names
    assert labels.equals(labelled(tmp_path / "out").select(labels.column_names))
    sizes = [[each["size"] for each in told["clusters"]] for told in (whole, plain)]
    assert sizes[0] == sizes[1]
    assert all(each["mean_confidence"] > 0 for each in whole["clusters"])
    assert [each["mean_confidence"] for each in plain["clusters"]] == [None] * len(sizes[0])
    again = json.loads(run("--no-confidence", "--json", out="plain").stdout)
    assert again["labelled_before"] == len(again["files"])
    assert again["clusters"] == plain["clusters"]
    assert run(out="plain").exit_code == 2  # other settings


def test_confidence_is_counted_with_and_without_noise():
    labels = np.array([0, 2, -1, 2, 0])
    own = np.array([1.0, 0.5, 0.0, 1.0, 0.75], dtype=np.float32)
    counts, confidence, noise = _counted(labels, own, 3)
    assert (counts.tolist(), confidence.tolist(), noise) == ([2, 0, 2], [1.75, 0, 1.5], 1)
    counts, confidence, noise = _counted(np.delete(labels, 2), np.delete(own, 2), 3)
    assert (counts.tolist(), confidence.tolist(), noise) == ([2, 0, 2], [1.75, 0, 1.5], 0)


def test_columns_that_are_no_numbers_are_refused_by_name(run):
    result = run("--columns", "a,name")
    assert result.exit_code == 2
    assert "column 'name' has not numbers but string" in result.stderr


def parts_of(file, table, model, sizes, notes):
    return {"sizes": sizes.counts.tolist()}


def damaged(file):
    """The text of a file overwritten: the numbers before it can be read, and so can the footer."""
    content = bytearray(file.read_bytes())
    column = pq.read_metadata(file).row_group(0).column(3)
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + 400] = b"\xff" * 400
    file.write_bytes(content)


def test_a_damaged_file_is_named_and_the_others_are_kept(run, folder, tmp_path):
    whole = (folder / "part-2.parquet").read_bytes()
    damaged(folder / "part-2.parquet")
    result = run()
    assert result.exit_code == 2
    assert "part-2.parquet" in result.stderr
    assert "part-0.parquet" not in result.stderr
    assert sorted(file.name for file in (tmp_path / "out").glob("*.parquet")) == [
        f"part-{number}.parquet" for number in (0, 1, 3, 4)
    ]
    assert whole != (folder / "part-2.parquet").read_bytes()


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"a": [1.0], "b": [2.0]}, "no column 'c', which the first file has"),
        ({"a": [1.0], "b": [2.0], "c": ["x"]}, "column 'c' has the type string"),
        ({"a": [1.0], "b": [2.0], "c": [float("inf")]}, "contains infinity"),
    ],
)
def test_files_unlike_the_first_are_named_before_anything_is_written(
    run, folder, tmp_path, table, complaint
):
    pq.write_table(pa.table(table), folder / "part-7.parquet")
    result = run()
    assert result.exit_code == 2
    assert "part-7.parquet" in result.stderr
    assert complaint in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_unknown_weights_leave_nothing_behind(run, tmp_path):
    (tmp_path / "out").mkdir()
    result = run("--weights", "nonsense")
    assert result.exit_code == 2
    assert "no model 'nonsense'" in result.stderr
    assert not [*(tmp_path / "out").iterdir()]


def test_a_wrong_number_of_clusters_is_refused_before_the_work_begins(run, monkeypatch):
    monkeypatch.setattr(connecting, "connected", None)
    result = run("--n-clusters", "many")
    assert result.exit_code == 2
    assert "not 'many'" in result.stderr


def test_weights_that_look_at_more_rows_draw_more(run, values, tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.inference.hashed_draw.MAX_ROWS", 500)
    drawn = []
    draw = engine.gather_files
    monkeypatch.setattr(engine, "gather_files", lambda *a: drawn.append(a[3]) or draw(*a))
    assert run("--json").exit_code == 0
    assert drawn == [500, 100_000]
    expected = coterie.AMCP("amcp-universal-small").fit(values)
    written = labelled(tmp_path / "out")
    assert (written["cluster"].to_numpy() == expected.labels_).all()


def test_a_file_without_a_footer_is_named(run, folder):
    (folder / "part-3.parquet").write_bytes(b"PAR1 and no more")
    result = run()
    assert result.exit_code == 2
    assert "part-3.parquet is a damaged Parquet file" in result.stderr


def test_gaps_in_one_file_are_filled(run, folder):
    numbers = pa.table({"a": [1.0, None], "b": [None, 2.0], "c": [0.0, 0.0]})
    pq.write_table(numbers, folder / "part-8.parquet")
    told = json.loads(run("--json").stdout)
    assert {each["name"]: each["gaps"] for each in told["filled"]} == {"a": 1, "b": 1}


@pytest.mark.parametrize("stage", [0, 1], ids=["while reading", "while labelling"])
def test_a_worker_that_is_killed_changes_nothing(run, client, values, tmp_path, stage):
    victim = next(iter(client.run(os.getpid).values()))
    killed, stages = [], []

    def counting(*_):
        stages.append("one more")
        return kill if len(stages) == stage + 1 else lambda n_rows: None

    def kill(*_):
        if not killed:
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.cli.on_engine.counting", counting)
        result = run()
    assert result.exit_code == 0, result.output
    assert killed
    expected = coterie.AMCP("amcp-universal-small").fit(values)
    written = labelled(tmp_path / "out")
    assert (written["cluster"].to_numpy() == expected.labels_).all()
    assert not [*(tmp_path / "out").glob(".coterie-*")]


def test_a_folder_that_is_not_empty_is_left_alone(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "diary.txt").write_text("dear")
    result = run()
    assert result.exit_code == 2
    assert "is not empty, it has 'diary.txt'" in result.stderr
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["diary.txt"]


def test_a_folder_of_other_labels_is_left_alone(run, tmp_path):
    assert run().exit_code == 0
    manifest = (tmp_path / "out" / MANIFEST).read_bytes()
    result = run("--n-clusters", "2")
    assert result.exit_code == 2
    assert "other files or settings" in result.stderr
    assert (tmp_path / "out" / MANIFEST).read_bytes() == manifest


def test_the_folder_of_the_inputs_is_left_alone(run):
    result = run(out="in")
    assert result.exit_code == 2
    assert "folder of the input files" in result.stderr


def test_nothing_matches(run):
    result = run(pattern="nowhere/*.parquet")
    assert result.exit_code == 2
    assert "no file matches nowhere/*.parquet" in result.stderr


def test_a_scheduler_that_does_not_answer(run, tmp_path, monkeypatch):
    monkeypatch.setattr(connecting, "TIMEOUT", 0.2)
    result = run(scheduler="tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "the scheduler tcp://127.0.0.1:9 does not answer" in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--scheduler", "tcp://host:1"], "--scheduler needs --engine dask"),
        (["--engine", "dask"], "needs a folder for the labelled files"),
        (
            ["--engine", "dask", "--out", "x", "--report", "r.html"],
            "--report is not supported with",
        ),
        (["--engine", "dask", "--out", "x", "--save", "m"], "--save is not supported with"),
        (
            ["--engine", "dask", "--out", "x", "--categorical", "c"],
            "--categorical is not supported",
        ),
    ],
)
def test_options_that_do_not_go_together(words, complaint):
    result = CliRunner().invoke(app, ["cluster", "*.parquet", *words])
    assert result.exit_code == 2
    assert complaint in result.stderr
