import json
from dataclasses import replace

import numpy as np
import pytest

from bench import tables
from bench.suite import SuiteSet
from bench.tables import Entrant, TablesPlan, our_entrants, peer_entrants, run_tables
from coterie.comparison.methods import Answer, Method
from coterie.metrics import ari
from coterie.weights.catalogue import find
from coterie.weights.format import load_system, save_system

PLAN = TablesPlan(("amcp-warped2d",), k_limit=4, threads=(1, 2))
ONE_THREAD = replace(PLAN, threads=(1,))
PEERS = (
    "GaussianMixture + BIC",
    "BayesianGaussianMixture",
    "HDBSCAN",
    "k-means + silhouette",
    "spectral clustering, told k",
)


def blobs(name: str, kind: str, k: int, *, columns: int = 2, noise: int = 0) -> SuiteSet:
    random = np.random.default_rng(len(name))
    labels = np.repeat(np.arange(k), 40)
    centres = (
        20.0
        * random.permutation(np.eye(max(k, columns)))[:k, :columns]
        * np.arange(1, k + 1)[:, None]
    )
    points = centres[labels] + random.normal(size=(len(labels), columns))
    strays = random.uniform(-40, 40, (noise, columns))
    return SuiteSet(
        name,
        kind,
        np.concatenate([points, strays]).astype(np.float32),
        np.concatenate([labels, np.full(noise, -1)]),
    )


@pytest.fixture(scope="module")
def suite():
    return (
        blobs("flat", "2-D shapes", 2),
        blobs("noisy", "2-D shapes", 3, columns=3, noise=10),
        blobs("wide", "tables", 2, columns=5),
    )


@pytest.fixture(scope="module")
def report(suite, tmp_path_factory):
    return run_tables(suite, ONE_THREAD, tmp_path_factory.mktemp("out") / "tables.jsonl")


class Journal:
    """Entrants that write down when they are asked, and say one cluster."""

    def __init__(self):
        self.calls = []

    def entrant(self, name, **settings):
        def cluster(points):
            self.calls.append((name, len(points)))
            return Answer(np.zeros(len(points), dtype=int))

        method = Method(name, "as it comes", cluster)
        return Entrant(name, method.details, "1", lambda given: method, **settings)


@pytest.fixture
def journal(monkeypatch):
    """Our model and two peers, none of which does any work."""
    journal = Journal()
    mine = journal.entrant("ours", is_ours=True)
    others = (journal.entrant("one"), journal.entrant("other", told_k=True))
    monkeypatch.setattr(tables, "our_entrants", lambda weights: (mine,))
    monkeypatch.setattr(tables, "peer_entrants", lambda k_limit: others)
    return journal


def names(journal):
    asked = [name for name, _ in journal.calls]
    journal.calls.clear()
    return asked


def test_everybody_answers_every_set(report, suite):
    assert [row.name for row in report.rows] == ["amcp-warped2d", *PEERS]
    for row in report.rows:
        assert len(row.runs[1]) == len(suite)


def test_everybody_answers_with_each_number_of_threads(journal, suite, tmp_path):
    for row in run_tables(suite, PLAN, tmp_path / "t.jsonl").rows:
        assert {number: len(runs) for number, runs in row.runs.items()} == {1: 3, 2: 3}


def test_the_one_that_is_told_k_is_told_the_true_one(report):
    (told,) = (row for row in report.rows if row.told_k)
    assert [kept.run.scores["k_found"] for kept in told.scored] == [2, 3, 2]


def test_noise_is_not_scored(report):
    # The third spectral cluster may be noise; the clusters themselves are far apart.
    found = {row.name: row.scored[1].run.scores["ari"] for row in report.rows}
    assert found["HDBSCAN"] > 0.9


def test_peers_see_standardised_columns():
    seen = []

    def cluster(points):
        seen.append(points)
        return Answer(np.zeros(len(points), dtype=int))

    tables.standardised(Method("m", "d", cluster)).cluster(np.float32([[1, 5], [3, 5], [5, 5]]))
    np.testing.assert_allclose(seen[0].mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(seen[0].std(0), [1, 0])
    assert all("columns standardised" in each.details for each in peer_entrants(4))


def test_models_that_scale_their_columns_get_them_as_they_are(suite, tmp_path):
    system, card = load_system(find("amcp-warped2d"))
    path = tmp_path / "scaling.safetensors"
    save_system(path, system, replace(card, traits=replace(card.traits, frame="standard")))
    plain, scaling = our_entrants(["amcp-warped2d", str(path)])
    assert "standardised" in plain.details
    assert "standardised" not in scaling.details
    assert plain.version != scaling.version


def test_methods_take_turns_after_a_warm_up(journal, suite, tmp_path):
    run_tables(suite, ONE_THREAD, tmp_path / "t.jsonl")
    a, b, c = "ours", "one", "other"
    assert names(journal) == [*(a, a, b, b, c, c), *(b, c, a), *(c, a, b)]


def test_only_the_peers_are_used_again(journal, suite, tmp_path):
    path = tmp_path / "t.jsonl"
    run_tables(suite, PLAN, path)
    names(journal)
    again = run_tables(suite, PLAN, path)
    assert set(names(journal)) == {"ours"}
    assert len(again.rows) == 3


def test_fresh_runs_use_nothing_again(journal, suite, tmp_path):
    path = tmp_path / "t.jsonl"
    run_tables(suite, PLAN, path)
    first = names(journal)
    run_tables(suite, PLAN, path, fresh=True)
    assert names(journal) == first


def test_a_run_that_was_killed_goes_on_where_it_stopped(journal, suite, tmp_path):
    path = tmp_path / "t.jsonl"

    def kill(label, done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tables(suite, PLAN, path, progress=kill)
    names(journal)
    report = run_tables(suite, PLAN, path, resume=True)
    sizes = {size for _, size in journal.calls}
    assert sizes == {len(suite[2].points)}
    assert len(journal.calls) == 2 * 6  # a warm-up and a run, of three with one and two threads
    assert all(len(row.scored) == 3 for row in report.rows)


def test_a_changed_set_is_run_again(journal, suite, tmp_path):
    path = tmp_path / "t.jsonl"
    run_tables(suite, PLAN, path)
    names(journal)
    changed = (*suite[:2], replace(suite[2], points=suite[2].points + 1))
    run_tables(changed, PLAN, path, resume=True)
    assert sorted(set(names(journal))) == ["one", "other", "ours"]


def test_progress_counts_every_set(journal, suite, tmp_path):
    told = []
    run_tables(suite, PLAN, tmp_path / "t.jsonl", progress=lambda *news: told.append(news))
    assert told == [("sets", done, 3) for done in (1, 2, 3)]


def test_the_command_says_what_was_asked():
    assert PLAN.command == (
        "python benchmarks tables --weights amcp-warped2d --k-limit 4 --threads 1 --threads 2"
    )


def test_json_survives_a_round_trip(report):
    data = report.to_json()
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_figures_are_those_of_the_answers(report, suite):
    method = peer_entrants(PLAN.k_limit)[0].method_for(None)
    given = suite[0]
    expected = ari(given.labels, method.cluster(given.points).labels)
    (row,) = (row for row in report.to_json()["methods"] if row["name"] == method.name)
    assert row["sets"]["flat"]["ari"] == pytest.approx(expected)
