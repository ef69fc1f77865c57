import json

import numpy as np
import pytest
import torch

import chigac
import chigac_bounds
import chigac_pioneers
import chigac_strategies
from bench.chigac import ExactMixtures, bounds_of_one, exact_setting, mean_accuracy, tightness
from bench.sets import draw_sets
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system

SMALL = {"width": 16, "heads": 2, "slots": 4, "latent": 8, "read_width": 8}


@pytest.fixture(scope="module")
def system():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build("chigac", SMALL).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def weights(system, tmp_path_factory):
    """A weights file of an untrained CHiGac."""
    path = tmp_path_factory.mktemp("weights") / "chigac.safetensors"
    save_system(path, system, make_card(system))
    return str(path)


def test_sets_have_as_many_points_and_clusters_as_they_say():
    for each in draw_sets(exact_setting(300, 3, "s"), 4, seed=0):
        assert each.points.shape == (300, 2)
        assert each.n_clusters <= 3
        assert each.oracle is not None
        assert np.mean(each.oracle.labels == each.labels) > 0.8


def test_the_bounds_are_in_order(system):
    batch = ExactMixtures(40, 3).draw(3, torch.Generator().manual_seed(0)).batch
    found = tightness(system, batch)
    assert found == tightness(system, batch)
    assert found.elbo < found.bound < 0
    assert found.elbo < found.log_likelihood
    assert found.elbo < found.reconstruction
    assert 0 < mean_accuracy(system, batch) <= 1


def test_on_one_network_the_ergodic_bound_is_the_tightest(system):
    batch = ExactMixtures(40, 3).draw(6, torch.Generator().manual_seed(0)).batch
    found = bounds_of_one(system, batch)
    assert found == bounds_of_one(system, batch)
    assert [*found] == ["ai", "semi-ai", "svi-ai", "eai", "log_likelihood"]
    assert found["ai"] < found["svi-ai"] < found["eai"] < 0


def test_the_bounds_of_one_network_are_printed_and_kept(tmp_path, capsys):
    chigac_bounds.main(["chigac-mog2d", "--sets=2", "--draws=2"], tmp_path / "bounds.json")
    assert capsys.readouterr().out.count("chigac-mog2d") == 5
    kept = json.loads((tmp_path / "bounds.json").read_text())
    assert kept["command"].endswith("chigac_bounds.py chigac-mog2d --sets=2 --draws=2")
    assert kept["networks"]["chigac-mog2d"]["eai"]["mean"] < 0


def test_the_table_is_printed_and_kept(weights, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(chigac, "SETTINGS", (exact_setting(40, 2, "s1"),))
    monkeypatch.setattr(chigac, "OTHERS", ("amcp-mog2d",))
    chigac.main(["--sets", "2", "--weights", weights], tmp_path / "chigac.json")
    assert capsys.readouterr().out.count("ACC") == 4
    kept = json.loads((tmp_path / "chigac.json").read_text())
    rows = kept["settings"]["(40, 2) s1"]
    assert [*rows] == ["Bayes rule", weights, "amcp-mog2d", "BayesianGaussianMixture"]
    assert rows["Bayes rule"]["acc"] > 0.8
    assert rows["amcp-mog2d"]["seconds"] > 0
    assert kept["command"].startswith("python benchmarks/chigac.py --sets 2")
    assert kept["printed"]["s1"]["CHiGac"] == 0.9698


def test_the_strategies_are_trained_with_one_budget(tmp_path, capsys):
    small = {**SMALL, "inner_steps": 2}.items()
    picture = tmp_path / "figures" / "strategies.png"
    budget = ["--steps=2", "--sets-per-step=1", "--test-sets=2"]
    budget += [f"--setting={name}={value}" for name, value in small]
    where = [f"--runs={tmp_path / 'runs'}", f"--picture={picture}"]
    chigac_strategies.main([*budget, *where], tmp_path / "strategies.json")
    assert capsys.readouterr().out.count("log-likelihood") == 5
    rows = json.loads((tmp_path / "strategies.json").read_text())["strategies"]
    assert [*rows] == ["ai", "semi-ai", "iai", "svi-ai", "eai"]
    for row in rows.values():
        assert len(row["curve"]) == 2
        assert row["bound"] < 0
    assert picture.stat().st_size > 5_000


def test_the_pioneers_are_drawn(weights, tmp_path, monkeypatch):
    monkeypatch.setattr(chigac_pioneers, "SIZES", ((30, 2), (40, 3)))
    chigac_pioneers.main(weights, str(tmp_path / "pioneers.png"))
    assert (tmp_path / "pioneers.png").stat().st_size > 5_000


@pytest.mark.data
def test_the_pioneers_of_digits_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(chigac_pioneers, "N_IMAGES", 60)
    chigac_pioneers.main("chigac-mnist", str(tmp_path / "digits.png"))
    assert (tmp_path / "digits.png").stat().st_size > 20_000
