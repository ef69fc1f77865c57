"""The tables that `benchmarks/render.py` writes, from results made up here."""

import json

import pytest

import pages.results
import render


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
def rendered(tmp_path, monkeypatch):
    """The function of the script, with results made up here."""
    data = {
        "command": "python benchmarks tables",
        "date": "2026-01-03",
        "machine": {"cpu": "CPU", "cores": 2, "others_cpu_share": 0.1},
        "k_max": 30,
        "sets": [{"name": "s1", "kind": "mixtures", "points": 9, "columns": 2, "clusters": 4}],
        "methods": [method("worse", 0.4), method("spectral", 0.7, told_k=True)],
    }
    folder = tmp_path / "benchmarks/results"
    folder.mkdir(parents=True)
    (folder / "tables.json").write_text(json.dumps(data))
    monkeypatch.setattr("pages.results.RESULTS", folder)
    return render.rendered


def test_the_best_method_comes_first(rendered):
    lines = rendered("<!-- results tables -->\n<!-- end -->").splitlines()
    assert lines[3].startswith(
        "| spectral † | 0.700 ± 0.010 | 0.700 | 0.500 | 25% | 100% | 0.500 |"
    )
    assert lines[4].startswith("| worse |")
    assert "1 sets of at most 30 clusters (1 mixtures)" in lines[6]
    assert "2026-01-02 and 2026-01-03; other processes took 10% of the machine." in lines[6]
    assert lines[6].endswith("Earlier runs: spectral (load of the machine unknown).")


def test_every_set_has_a_line(rendered):
    lines = rendered("<!-- results tables:sets -->\n<!-- end -->").splitlines()
    assert lines[3] == "| s1 | 9 | 2 | 4 | 0.40 (3) | 0.70 (3) |"


@pytest.fixture
def families(rendered, tmp_path):
    """The script, with results of two families as well."""
    one, other = method("mine", 0.4), method("spectral", 0.7, told_k=True)
    for each in (one, other):
        each["kinds"] = {"roads": each["all"], "blobs": each["all"]}
        each["measured"] = ["2026-01-03"]
    ceiling = {"mean": 0.9, "standard_error": 0.02}
    margin = {"mean": -0.1, "standard_error": 0.03}
    beside = {"best_peer": "HDBSCAN", "over_best_peer": ceiling, "over_ceiling": margin}
    data = json.loads((tmp_path / "benchmarks/results/tables.json").read_text()) | {
        "methods": [one, other],
        "ceiling": {"all": ceiling, "kinds": {"roads": ceiling, "blobs": ceiling}},
        "margins": {"mine": {"roads": beside}},
    }
    (tmp_path / "benchmarks/results/families.json").write_text(json.dumps(data))
    return lambda mark: rendered(f"<!-- results {mark} -->\n<!-- end -->").splitlines()


def test_families_have_a_column_each_and_the_ceiling_comes_last(families):
    lines = families("families")
    assert lines[1].startswith("|  | ARI | roads | blobs | NMI |")
    assert lines[3].startswith("| spectral † | 0.700 ± 0.010 | 0.700 | 0.700 |")
    assert lines[5] == "| ceiling | 0.900 ± 0.020 | 0.900 | 0.900 |  |  |  |  |  |"
    assert {line.count("|") for line in lines[1:6]} == {lines[1].count("|")}


def test_k_and_margins_of_the_families_have_tables_of_their_own(families):
    lines = families("families:k")
    assert lines[1:4:2] == ["|  | roads | blobs |", "| spectral † | 25%, 100% | 25%, 100% |"]
    lines = families("families:margins")
    assert lines[3] == "| mine | roads | HDBSCAN | 0.900 ± 0.020 | -0.100 ± 0.030 |"


def test_calibration_has_a_line_for_each_family_of_each_model(rendered, tmp_path):
    found = {"points": 1200, "confidence": 0.9, "right": 0.8, "ece": 0.15, "bins": []}
    data = {
        "command": "python benchmarks calibration",
        "date": "2026-01-03T10:00",
        "sets_of_each_family": 4,
        "n_bins": 15,
        "models": {"mine": {"roads": found, "all": found}},
    }
    (tmp_path / "benchmarks/results/calibration.json").write_text(json.dumps(data))
    lines = rendered("<!-- results calibration -->\n<!-- end -->").splitlines()
    assert lines[3] == "| mine | roads | 1,200 | 0.900 | 0.800 | 0.150 |"
    assert lines[4].startswith("| mine | all |")
    assert lines[6] == (
        "`python benchmarks calibration`: 4 sets of each family, 15 bins, noise not scored;"
        " 2026-01-03."
    )


def test_a_training_run_is_told_step_by_step(rendered, tmp_path):
    line = json.dumps({"step": 1400, "ari": 0.51, "k_mae": 1})
    (tmp_path / "benchmarks/results/run.jsonl").write_text(line + "\n")
    lines = rendered("<!-- results validation:run -->\n<!-- end -->").splitlines()
    assert lines[3] == "| 1,400 | 0.510 | 1.00 |"


def test_ours_stands_below_what_a_paper_prints(rendered, tmp_path):
    def of(name, ari):
        scores = {"ari": {"mean": ari, "standard_error": None}}
        return {"name": name, "metrics": scores, "seconds_median": 0.25}

    row = {"(n_max, k_max)": "(1000, 4)", "method": "DAC", "ARI": None, "seconds": "0.006"}
    other = {"method": "NCP", "ARI": "0.79", "seconds": None}
    data = {
        "command": "python benchmarks mog",
        "date": "2026-01-03",
        "machine": {"cpu": "CPU", "cores": 2, "others_cpu_share": None},
        "printed": [
            {"source": "paper: Table 1", "note": "5 runs", "rows": [row]},
            {"source": "paper: Table 5", "note": "sets of (3000, 12)", "rows": [other]},
        ],
        "settings": [
            {"title": title, "ours": {"n_sets": 9, "oracle": None, "methods": [of("mine", ari)]}}
            for title, ari in (("(1000, 4)", 0.9), ("(3000, 12)", 0.8))
        ],
    }
    (tmp_path / "benchmarks/results/mog.json").write_text(json.dumps(data))
    text = rendered("<!-- results printed:mog -->\n<!-- end -->")
    first, second = text.split("**Table 5**")
    assert (
        "| (1000, 4) | paper: DAC |  | 0.006 |\n| (1000, 4) | ours: mine | 0.900 | 0.250 |" in first
    )
    assert "(3000, 12)" not in first
    assert "| (3000, 12) | paper: NCP | 0.79 |  |\n| (3000, 12) | ours: mine | 0.800 |" in second
    assert "(1000, 4)" not in second


def of_set(ll, *names):
    """A setting with an oracle of some likelihood."""
    none = {"standard_error": None}
    methods = [
        {
            "name": name,
            "details": name,
            "n_sets": 9,
            "metrics": {"ari": {"mean": 0.5, **none}},
            "seconds_median": 0.25,
        }
        for name in names
    ]
    oracle = {**methods[0], "name": "oracle", "metrics": {"ll": {"mean": ll, **none}}}
    return {"n_sets": 9, "oracle": oracle, "methods": methods}


def test_two_runs_on_the_same_sets_share_a_table(rendered):
    row = {"(n_max, k_max)": "(1000, 4)", "method": "DAC", "ARI": "0.97"}
    table = {"source": "paper: Table 1", "note": "5 runs", "rows": [row]}
    machine = {"cpu": "CPU", "cores": 2, "others_cpu_share": None}
    for name, ll in (("one", -1.0), ("other", -1.0), ("apart", -2.0)):
        setting = {"title": "(1000, 4)", "ours": of_set(ll, f"model of {name}")}
        setting["everybody"] = of_set(ll, f"model of {name}", "told the true k")
        keep(name, printed=[table], settings=[setting], machine=machine)
    page = rendered("<!-- results printed:one+other -->\n<!-- end -->")
    assert "| (1000, 4) | ours: model of one | 0.500 |" in page
    assert "| (1000, 4) | ours: model of other | 0.500 |" in page
    assert "| (1000, 4) | here: told the true k, 9 sets | 0.500 |" in page
    assert page.count("9 sets per setting") == 2
    assert "| (1000, 4) | told the true k |" in rendered(
        "<!-- results everybody:one -->\n<!-- end -->"
    )
    with pytest.raises(ValueError, match="has other sets than"):
        rendered("<!-- results printed:one+apart -->\n<!-- end -->")


def test_times_are_told_as_multiples_of_those_of_dac(rendered):
    machine = {"cpu": "CPU", "cores": 2, "others_cpu_share": None}
    settings = [{"title": "(3000, 12)", "ours": of_set(-1.0, "dac", "ncp")}]
    dac, ncp = settings[0]["ours"]["methods"]
    dac["seconds_mean"], ncp["seconds_mean"], ncp["seconds_median"] = 0.5, 300.0, 100.0
    keep("ncp", settings=settings, machine=machine)
    lines = rendered("<!-- results times:ncp -->\n<!-- end -->").splitlines()
    assert lines[1] == "|  | times as long as dac, by the median | by the mean |"
    assert lines[3] == "| ncp | 400 | 600 |"
    assert "9 sets per setting" in lines[5]


def keep(name, **data):
    """Write results of one name beside the others."""
    machine = {"cpu": "CPU", "cores": 2}
    made = {"command": f"python benchmarks/{name}.py", "date": "2026-01-03", "machine": machine}
    (pages.results.RESULTS / f"{name}.json").write_text(json.dumps({**made, **data}))


def test_what_can_be_recovered_of_the_prior(rendered):
    methods = ("k-means", "mixture", "spectral", "linkage", "best")
    keep("prior", families={"blobs": {**dict.fromkeys(methods, 0.5), "ceiling": 0.75}})
    lines = rendered("<!-- results prior -->\n<!-- end -->").splitlines()
    assert lines[1].startswith("|  | k-means | mixture |")
    assert lines[3] == "| blobs | 0.500 | 0.500 | 0.500 | 0.500 | 0.500 | 0.750 |"
    assert lines[5] == "`python benchmarks/prior.py`; CPU, 2 cores, 2026-01-03."


def test_what_the_model_says_of_its_limits(rendered):
    belief = {"sets": 9, "right": 0.5, "believed": 0.6, "surprise": 1.25, "among_probable": 0.8}
    keep(
        "doubts",
        strange=[{"name": "lattices", "sets": 1000, "strange": 3}],
        belief={**belief, "sure": 4, "sure_and_right": 3},
    )
    page = rendered("<!-- results doubts:strange -->\n<!-- end -->")
    assert "| lattices | 3 of 1,000 |" in page
    page = rendered("<!-- results doubts:belief -->\n<!-- end -->")
    assert "| 9 sets |  |" in page
    assert "| mean negative log-probability of the true k (nats) | 1.25 |" in page
    assert "| k correct where its probability is above 0.8 | 3 of 4 |" in page


def test_what_was_tried_to_break(rendered):
    told = {
        "weights": {"refused": 7, "served": 3, "load_ms": 20.0, "checksum_ms": 5.0},
        "files": {"labels": 4, "refused": 6, "slowest_cpu_seconds": 1.25},
        "requests": {
            "statuses": {"200": 8, "400": 2},
            "seconds": 3.0,
            "server_errors": 0,
            "hangs": 0,
            "tracebacks": 1,
            "slowest_seconds": 0.5,
            "memory_mb_after_first": 1000.0,
            "memory_mb_at_end": 1010.0,
        },
    }
    for name, row in told.items():
        row |= {"attempts": 10, "seed": 0, "failures": ["one"] if name == "files" else []}
    machine = {"cpu": "CPU", "cores": 2}
    run = {"command": "python it", "date": "2026-01-03", "machine": machine}
    kept = {name: {**run, "row": row} for name, row in told.items()}
    (pages.results.RESULTS / "reliability.json").write_text(json.dumps(kept))
    page = rendered("<!-- results reliability:attempts -->\n<!-- end -->")
    assert (
        "| damaged files | 10 | labels for 4, documented errors for 6; the slowest took 1.2 s | 1 |"
        in page
    )
    assert "| requests | 10 | 8 successful, the rest rejected, abandoned or closed; no 5xx" in page
    assert "kills" not in page
    assert "- damaged weights: `python it`; CPU, 2 cores, 2026-01-03." in page
    page = rendered("<!-- results reliability:load -->\n<!-- end -->")
    assert "| responses by status | 200: 8, 400: 2 |" in page
    page = rendered("<!-- results reliability:costs -->\n<!-- end -->")
    assert "takes 20.0 ms, of which the checksum of its tensors takes 5.0 ms (25%)" in page


def test_what_the_model_says_of_mixtures_and_moons(rendered):
    found = {"sets": 9, "confidence": 0.9, "right": 0.75, "ece": 0.15}
    believed = {"sets": 9, "top_belief": 0.8, "top_right": 0.6}
    keep("honesty", memberships={"all": found, "k wrong": found}, belief={"all": believed})
    lines = rendered("<!-- results honesty -->\n<!-- end -->").splitlines()
    assert lines[3] == "| all | 9 | 0.90 | 0.75 | 0.150 | 0.80 | 0.60 |"
    assert lines[4] == "| k wrong | 9 | 0.90 | 0.75 | 0.150 |  |  |"
