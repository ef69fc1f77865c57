"""A table is the same table on the command line and in Python."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import coterie
from coterie.cli.app import app

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.xdist_group("alike"),  # every choice is clustered once, by one worker
]

SMALL = "amcp-universal-small"
READERS = {
    "pandas": pd.read_csv,
    "pandas, dates read": lambda path: pd.read_csv(path, parse_dates=["signed_up"]),
    "polars": pl.read_csv,
    "polars, dates read": lambda path: pl.read_csv(path, try_parse_dates=True),
    "pyarrow": pyarrow.csv.read_csv,
}
LEFT_OUT = {
    "customer_id": "identifies the rows, by its name",
    "signed_up": "dates or times; turn them into numbers to use them",
    "country": "constant",
    "fee": "constant",
    "remark": "240 different values in 240 rows",
}


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    """A table with all that a table may have."""
    random, n = np.random.default_rng(0), 240
    group = random.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "customer_id": 100_001 + np.arange(n),
            "income": random.normal([28_000, 52_000, 90_000], 2_500, (n, 3))[np.arange(n), group],
            "spent": [
                f"${each:,.2f}"
                for each in random.normal([300, 900, 2_100], 60, (n, 3))[np.arange(n), group]
            ],
            "visits": random.normal([3, 12, 25], 1.2, (n, 3))[np.arange(n), group],
            "plan": np.array(["basic", "plus", "pro"])[group],
            "member": np.where(group > 0, "true", "false"),
            "signed_up": pd.date_range("2021-01-01", periods=n).strftime("%Y-%m-%d"),
            "country": "DE",
            "fee": 4.5,
            "zone": random.integers(1, 4, n),
            "remark": [f"said {i}" for i in range(n)],
        }
    )
    frame["income"] = frame["income"].round().astype(int)
    frame.loc[::20, "visits"] = np.nan
    frame.loc[5::40, "plan"] = None
    path = tmp_path_factory.mktemp("alike") / "customers.csv"
    frame.to_csv(path, index=False)
    return path


def clustered(path, out, *options):
    result = CliRunner().invoke(
        app, ["cluster", str(path), "--json", "--out", str(out), *map(str, options)]
    )
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


# What an option of the command line is in Python. The judge reads the same table: once is enough.
QUICK = ("--ending", "network"), {"ending": "network"}
CHOICES = {
    "judged": ((), {}),
    "all": QUICK,
    "exclude": (("--exclude", "plan,zone"), {"exclude": ["plan", "zone"]}),
    "categorical": (("--categorical", "zone"), {"categorical": ["zone"]}),
    "columns": (
        ("--columns", "income,plan,customer_id"),
        {"columns": ["income", "plan", "customer_id"]},
    ),
    "noise": (("--noise",), {"noise": True}),
}


@pytest.fixture(scope="module", params=CHOICES)
def choice(request, customers, tmp_path_factory):
    """A choice of columns: its summary and table on the command line, its settings in Python."""
    options, settings = CHOICES[request.param]
    if request.param not in ("judged", "all"):
        options, settings = (*options, *QUICK[0]), {**settings, **QUICK[1]}
    out = tmp_path_factory.mktemp("written") / "out.csv"
    summary = clustered(customers, out, *options)
    return summary, pl.read_csv(out), settings


@pytest.mark.parametrize("reader", READERS)
def test_a_file_and_a_frame_have_the_same_clusters(customers, reader, choice):
    summary, written, settings = choice
    frame = READERS[reader](customers)
    model = coterie.AMCP(**settings).fit(frame)
    assert written["cluster"].to_list() == model.labels_.tolist()
    np.testing.assert_allclose(
        written["confidence"], model.clustering_.confidence, atol=1e-6, rtol=0
    )
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    assert [left["name"] for left in summary["left_out"]] == [left.name for left in model.left_out_]


@pytest.mark.parametrize("reader", READERS)
def test_both_say_what_they_left_out_and_why(customers, tmp_path, reader):
    summary = clustered(customers, tmp_path / "out.csv", *QUICK[0])
    assert summary["columns"] == ["income", "spent", "visits", "plan", "member", "zone"]
    assert summary["categories"] == {"plan": ["basic", "plus", "pro"]}
    told = {left["name"]: left["reason"] for left in summary["left_out"]}
    assert told == {**LEFT_OUT, "remark": f"text, 'said 0' in row 1, {LEFT_OUT['remark']}"}
    assert any("identify the rows" in note for note in summary["notes"])
    with pytest.warns(UserWarning, match="columns dropped: 'customer_id' "):
        model = coterie.AMCP(**QUICK[1]).fit(READERS[reader](customers))
    assert dict(model.left_out_) == LEFT_OUT


def test_other_formats_are_alike_too(customers, tmp_path):
    frame = pl.read_csv(customers, try_parse_dates=True)
    expected = coterie.AMCP(**QUICK[1]).fit(frame).labels_.tolist()
    for suffix, write, read in (
        ("parquet", frame.write_parquet, pl.read_parquet),
        ("arrow", frame.write_ipc, pl.read_ipc),
    ):
        path, out = tmp_path / f"t.{suffix}", tmp_path / f"out.{suffix}"
        write(path)
        clustered(path, out, *QUICK[0])
        assert read(out)["cluster"].to_list() == expected


def test_a_table_larger_than_the_context_is_drawn_alike(customers, tmp_path):
    frame = pd.concat([pd.read_csv(customers)] * 11, ignore_index=True)  # 2,640 rows
    frame["customer_id"] = np.arange(len(frame))
    frame["visits"] += np.random.default_rng(1).normal(0, 0.1, len(frame))
    frame.to_csv(tmp_path / "long.csv", index=False)
    clustered(tmp_path / "long.csv", tmp_path / "out.csv", "--weights", SMALL, *QUICK[0])
    labels = coterie.AMCP(SMALL, **QUICK[1]).fit(pd.read_csv(tmp_path / "long.csv")).labels_
    assert pl.read_csv(tmp_path / "out.csv")["cluster"].to_list() == labels.tolist()


def test_arrays_are_never_touched(customers, tmp_path):
    numbers = pd.read_csv(customers)[["customer_id", "fee", "income"]].to_numpy()
    np.save(tmp_path / "t.npy", numbers)
    summary = clustered(tmp_path / "t.npy", tmp_path / "out.npy")
    model = coterie.AMCP().fit(numbers)
    assert (summary["left_out"], model.left_out_) == ([], ())
    assert summary["columns"] == ["x1", "x2", "x3"]
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy")[:, 3], model.labels_)
    for name in ("columns", "exclude", "categorical"):
        with pytest.raises(ValueError, match="apply to data frames only"):
            coterie.AMCP(**{name: ["fee"]}).fit(numbers)
