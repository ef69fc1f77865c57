"""The one table of the README, and that of the recipe for embeddings, from results made up here."""

import json

import pytest

import render
from pages.summary import best

MACHINE = {"cpu": "CPU", "cores": 2}
RUN = {"date": "2026-01-03T10:00", "machine": MACHINE}
SCORES = {
    "amcp-universal": 0.75,
    "HDBSCAN": 0.6,
    "k-means + silhouette": 0.5,
    "GaussianMixture + BIC": 0.4,
}


@pytest.fixture
def rendered(tmp_path, monkeypatch):
    def keep(name, **data):
        data = {"command": f"python {name}", **RUN, **data}
        (tmp_path / f"{name}.json").write_text(json.dumps(data))

    def method(name, ari):
        scored = {"metrics": {"ari": {"mean": ari}}}
        kinds = {"2-D shapes": scored, "mixtures": scored}
        return {"name": name, "kinds": kinds, "seconds_median": {"1": ari / 2}}

    sets = [{"kind": "2-D shapes"}, {"kind": "2-D shapes"}, {"kind": "mixtures"}]
    keep("tables", sets=sets, methods=[method(*each) for each in SCORES.items()])
    peers = {name: {"ari": {"mean": 0.3}} for name in SCORES} | {"coterie": {"ari": {"mean": 0.28}}}
    keep("table_peers", tables=41, peers=peers)
    topics = [
        {"name": "`coterie.cluster(X)`", "ari": 0.62, "k": [20, 18]},
        {"name": "HDBSCAN on all columns", "ari": 1.0, "k": [40, 40]},
    ]
    keep("embeddings", sets=2, methods=topics)
    monkeypatch.setattr("pages.results.RESULTS", tmp_path)
    return lambda name: render.rendered(f"<!-- results {name} -->\n<!-- end -->").splitlines()


def test_the_table_has_five_rows_and_the_best_in_bold(rendered):
    lines = rendered("summary")
    rows = [line for line in lines if line.startswith("|")][2:]
    assert len(rows) == 5
    assert rows[0] == "| 2 public sets of shapes in the plane | **0.75** | 0.60 | 0.50 | 0.40 |"
    assert rows[2].startswith("| 41 real tables with overlapping classes | 0.28 | **0.30** |")
    assert rows[3] == "| embeddings of 40 unequal topics | 0.62 | **1.00** |  |  |"
    assert rows[4].startswith("| seconds, median public set | 0.38 | 0.3 |")


def test_every_command_stands_below_the_table(rendered):
    below = rendered("summary")[-2]
    for name in ("tables", "table_peers", "embeddings"):
        assert f"`python {name}`" in below


def test_methods_on_embeddings_come_best_first(rendered):
    lines = rendered("topics")
    assert lines[3] == "| HDBSCAN on all columns | 1.00 | 40, 40 |"
    assert lines[4] == "| `coterie.cluster(X)` | 0.62 | 20, 18 |"
    assert "`python embeddings`: 2 sets" in lines[6]


def test_equal_scores_are_equally_bold():
    assert best([0.301, 0.304, None, 0.2]) == ["**0.30**", "**0.30**", "", "0.20"]
