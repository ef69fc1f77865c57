"""The examples for Spark and Ray give the labels of the estimator in memory."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import coterie

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ["a", "b", "c"]

pytestmark = [
    pytest.mark.xdist_group("other engines"),  # each starts processes of its own
    pytest.mark.filterwarnings("ignore"),  # whatever the engines warn of
    pytest.mark.skipif(
        os.environ.get("COTERIE_ENGINES") != "1",
        reason="Spark and Ray are slow to start: set COTERIE_ENGINES=1 to run this",
    ),
]


@pytest.fixture
def frame(values):
    # Few equal rows: the examples leave out the second pass that very many of them need.
    return pd.DataFrame(values[values[:, 0] != 3.0], columns=NAMES).assign(name="somebody")


@pytest.fixture
def expected(frame):
    return coterie.AMCP().fit(frame[NAMES]).labels_


def test_spark(frame, expected, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="needs Spark: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("needs Java for Spark: apt-get install default-jre-headless")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    example = runpy.run_path(str(EXAMPLES / "on_spark.py"))
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    builder = sql.SparkSession.builder.master("local[2]").config(map=settings)
    spark = builder.getOrCreate()
    try:
        table = spark.createDataFrame(frame.reset_index()).repartition(3)
        model = example["fit"](table, NAMES)
        labelled = example["label"](table, NAMES, model).toPandas().sort_values("index")
    finally:
        spark.stop()
    assert labelled["cluster"].tolist() == expected.tolist()
    assert labelled["name"].eq("somebody").all()


RAY = """
import runpy, sys
import pandas as pd
import ray
example, source, target = sys.argv[1:]
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2**28)
names = ["a", "b", "c"]
table = ray.data.from_pandas([part for _, part in pd.read_pickle(source).groupby("part")])
functions = runpy.run_path(example)
labelled = functions["label"](table, names, functions["fit"](table, names)).to_pandas()
labelled.to_pickle(target)
ray.shutdown()
"""


def test_ray(frame, expected, tmp_path):
    """In a process of its own, which can be stopped."""
    pytest.importorskip("ray", reason="needs Ray: pip install ray")
    frame.assign(part=frame.index % 3).reset_index().to_pickle(tmp_path / "source")
    words = [EXAMPLES / "on_ray.py", tmp_path / "source", tmp_path / "target"]
    subprocess.run([sys.executable, "-c", RAY, *map(str, words)], timeout=500, check=True)
    labelled = pd.read_pickle(tmp_path / "target").sort_values("index")
    assert labelled["cluster"].tolist() == expected.tolist()
    assert labelled["name"].eq("somebody").all()
