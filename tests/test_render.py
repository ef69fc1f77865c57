"""The tables that `benchmarks/render.py` writes, from results made up here."""

import json
import runpy
from pathlib import Path

import pytest

RENDER = Path(__file__).parent.parent / "benchmarks" / "render.py"


def method(name, ari, *, told_k=False):
    estimates = {
        "ari": {"mean": ari, "standard_error": 0.01},
        "nmi": {"mean": 0.5, "standard_error": None},
        "k_exact": {"mean": 0.25, "standard_error": None},
        "k_within_one": {"mean": 1.0, "standard_error": None},
    }
    summary = {"n_sets": 1, "metrics": estimates}
    return {
        "name": name,
        "told_k": told_k,
        "measured": ["2026-01-02" if told_k else "2026-01-03"],
        "others_cpu_share": None,
        "all": summary,
        "kinds": {"mixtures": summary},
        "seconds_median": {"1": 0.5, "2": 0.25},
        "sets": {"s1": {"ari": ari, "k_found": 3.0}},
    }


@pytest.fixture
def render(tmp_path):
    """The script's functions, with results of its own."""
    data = {
        "command": "coterie bench tables",
        "date": "2026-01-03",
        "machine": {"cpu": "CPU", "cores": 2, "others_cpu_share": 0.1},
        "k_max": 30,
        "sets": [{"name": "s1", "kind": "mixtures", "points": 9, "columns": 2, "clusters": 4}],
        "methods": [method("worse", 0.4), method("spectral", 0.7, told_k=True)],
    }
    folder = tmp_path / "benchmarks/results"
    folder.mkdir(parents=True)
    (folder / "tables.json").write_text(json.dumps(data))
    script = tmp_path / "benchmarks/render.py"
    script.write_text(RENDER.read_text())
    return runpy.run_path(str(script))


def test_the_best_method_comes_first(render):
    lines = render["rendered"]("<!-- results tables -->\n<!-- end -->").splitlines()
    assert lines[3].startswith(
        "| spectral † | 0.700 ± 0.010 | 0.700 | 0.500 | 25% | 100% | 0.500 |"
    )
    assert lines[4].startswith("| worse |")
    assert "1 sets of at most 30 clusters (1 mixtures)" in lines[6]
    assert "2026-01-02 and 2026-01-03; other processes took 10% of the machine." in lines[6]
    assert lines[6].endswith(
        "Runs from before are those of spectral (load of the machine unknown)."
    )


def test_every_set_has_a_line(render):
    lines = render["rendered"]("<!-- results tables:sets -->\n<!-- end -->").splitlines()
    assert lines[3] == "| s1 | 9 | 2 | 4 | 0.40 (3) | 0.70 (3) |"
