"""Next month's file, by the clusters of this month's."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import coterie
from coterie.cli.app import app
from coterie.data.tables import delimited


def run(*arguments, **settings):
    return CliRunner().invoke(app, [str(each) for each in arguments], **settings)


def refused(result):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("coterie: ")


def customers(seed, n=240):
    random = np.random.default_rng(seed)
    group = random.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "customer_id": 1000 * seed + np.arange(n),
            "income": random.normal(np.array([28_000, 52_000, 90_000])[group], 2_500).round(2),
            "visits": random.normal(np.array([3, 12, 25])[group], 1.2),
            "plan": np.array(["basic", "plus", "pro"])[group],
            "remark": [f"said {i}" for i in range(n)],
        }
    )
    frame.loc[::20, "visits"] = np.nan
    return frame


@pytest.fixture(scope="module")
def january(tmp_path_factory):
    """A model and the file that it was fitted to."""
    folder = tmp_path_factory.mktemp("january")
    table, model = folder / "january.csv", folder / "january.coterie"
    customers(1).to_csv(table, index=False)
    result = run("cluster", table, "--save", model, "--out", folder / "labels.csv")
    assert result.exit_code == 0, result.output
    assert f"saved     {model}" in result.stdout
    return model


@pytest.fixture
def predict(january, tmp_path):
    """Predicts a frame, written as CSV, and gives the JSON."""

    def predict(frame, *options):
        path = tmp_path / "february.csv"
        frame.to_csv(path, index=False)
        result = run("predict", path, "--model", january, "--json", *options)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return predict


def test_the_file_that_was_fitted_gets_its_labels_again(january, tmp_path):
    table, labels = january.with_suffix(".csv"), january.with_name("labels.csv")
    out = tmp_path / "again.csv"
    result = run("predict", table, "--model", january, "--out", out)
    assert result.exit_code == 0, result.output
    assert out.read_bytes() == labels.read_bytes()
    assert "240 rows of" in result.stdout
    assert "are unlike the fitted ones; about 1% is usual" in result.stdout


def test_a_later_file_is_told_apart_as_python_does_it(january, predict):
    later = customers(2)
    found = predict(later)
    model = coterie.load(january)
    with pytest.warns(UserWarning, match="filled"):
        labels = model.predict(later[["income", "visits", "plan"]])
    sizes = np.bincount(labels, minlength=model.n_clusters_)
    assert [cluster["size"] for cluster in found["clusters"]] == sizes.tolist()
    assert found["rows"] == 240
    assert found["columns"] == ["income", "visits", "plan"]
    assert (found["ignored"], found["noise"], found["labels"]) == ([], 0, None)
    assert sum(cluster["fitted_share"] for cluster in found["clusters"]) == pytest.approx(1)
    assert found["unlike"]["share"] < 0.05
    assert found["notes"] == ["missing values filled with the median: 'visits' (12 values)"]


def test_new_columns_are_ignored_and_identifiers_need_not_be_there(predict):
    later = customers(2).drop(columns=["customer_id", "remark"])
    found = predict(later.assign(newsletter=1, note="x"))
    assert found["ignored"] == ["newsletter", "note"]
    assert found["notes"][0] == "new columns are ignored: newsletter, note"
    plain = predict(later[["plan", "visits", "income"]])
    assert plain["ignored"] == []
    assert plain["clusters"] == found["clusters"]


def test_unseen_categories_are_counted_over_the_whole_file(predict, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 2000)
    later = customers(2)
    later.loc[::40, "plan"] = "gold"
    later.loc[5::120, "plan"] = None
    notes = predict(later)["notes"]
    assert "values not present in fit, encoded as no category: 'plan' (6 values)" in notes
    assert "missing values encoded as no category: 'plan' (2 values)" in notes


def test_a_table_that_has_drifted_is_said_to(predict):
    later = customers(2)
    found = predict(later.assign(income=later.income * 100))
    assert found["unlike"]["share"] > 0.9
    assert found["unlike"]["out_of_range"]["income"] == 240
    (note,) = [note for note in found["notes"] if "drifted" in note]
    assert (
        "of the rows are unlike the fitted ones; out of the fitted range: 'income' (240 val" in note
    )
    assert not any("drifted" in note for note in predict(later)["notes"])


def test_missing_columns_and_other_kinds_are_refused_by_name(january, tmp_path):
    path = tmp_path / "february.csv"
    customers(2).drop(columns=["plan", "visits"]).to_csv(path, index=False)
    line = refused(run("predict", path, "--model", january))
    assert line == f"{path} lacks columns 'visits', 'plan', which the model needs"
    wrong = customers(2).astype({"visits": object, "income": object})
    wrong.loc[3, ["visits", "income"]] = ["many", "much"]
    wrong.to_csv(path, index=False)
    line = refused(run("predict", path, "--model", january))
    assert "column 'income' held numbers in fit and has text, 'much' in row 4 now" in line
    assert "column 'visits' held numbers in fit and has text, 'many' in row 4 now" in line
    born = pl.from_pandas(customers(2)).with_columns(visits=pl.date(2020, 1, 1))
    born.write_parquet(tmp_path / "february.parquet")
    line = refused(run("predict", tmp_path / "february.parquet", "--model", january))
    assert "'visits' held numbers in fit and has dates or times now" in line


def test_files_that_are_no_models_are_refused(january, tmp_path):
    table = january.with_suffix(".csv")
    assert refused(run("predict", table, "--model", "absent")) == "no model at absent"
    assert "not a safetensors file" in refused(run("predict", table, "--model", table))
    cut = tmp_path / "cut.coterie"
    cut.write_bytes(january.read_bytes()[:-100])
    assert "cut.coterie is damaged" in refused(run("predict", table, "--model", cut))
    shipped = coterie.models()[0].path
    assert "not a fitted model" in refused(run("predict", table, "--model", shipped))
    assert "Missing option '--model'" in refused(run("predict", table))
    both = ("--json", "--out", "-")
    assert "would both write" in refused(run("predict", table, "--model", january, *both))
    assert "is a folder" in refused(run("cluster", table, "--save", tmp_path))
    assert "is the input file" in refused(run("cluster", table, "--save", table))


def test_noise_and_other_formats_and_standard_input(tmp_path):
    frame = pl.from_pandas(customers(1))
    frame.write_parquet(tmp_path / "t.parquet")
    model, out = tmp_path / "m.coterie", tmp_path / "out.parquet"
    asked = ("--noise", "--save", model, "--out", tmp_path / "labels.parquet", "--json")
    assert run("cluster", tmp_path / "t.parquet", *asked).exit_code == 0
    assert run("predict", tmp_path / "t.parquet", "--model", model, "--out", out).exit_code == 0
    labels = pl.read_parquet(tmp_path / "labels.parquet")["cluster"]
    assert pl.read_parquet(out)["cluster"].to_list() == labels.to_list()
    far = frame.head(3).with_columns(income=pl.lit(1e9))
    result = run("predict", "-", "--model", model, "--out", "-", input=far.write_csv())
    assert result.exit_code == 0, result.output
    assert [line.split(",")[-2:] for line in result.stdout.splitlines()[1:]] == [
        ["-1", "0.000000"]
    ] * 3
    assert "3 rows of standard input" in result.stderr
    assert "noise     3 rows, 100.0%" in result.stderr


def test_a_model_of_an_array_takes_as_many_columns(blobs, tmp_path):
    model = coterie.AMCP("amcp-mog2d").fit(blobs.points)
    path = model.save(tmp_path / "m.coterie")
    np.save(tmp_path / "t.npy", blobs.points)
    out = tmp_path / "out.npy"
    assert run("predict", tmp_path / "t.npy", "--model", path, "--out", out).exit_code == 0
    np.testing.assert_array_equal(np.load(out)[:, 2], model.labels_)
    np.save(tmp_path / "wide.npy", np.zeros((3, 5)))
    line = refused(run("predict", tmp_path / "wide.npy", "--model", path))
    assert "has 5 columns, the model was fitted to an array of 2" in line
    np.save(tmp_path / "gap.npy", np.array([[0.0, np.nan]]))
    assert "NaN" in refused(run("predict", tmp_path / "gap.npy", "--model", path))
