"""Sets of images of unseen classes, by a small network that was never trained."""

import json
import os
import sys

import numpy as np
import pytest
import torch

import image_figures
import image_sets
import image_strips
import image_studies
from bench.merged import merge
from coterie.data.pools import ImagePool
from coterie.systems.registry import build
from coterie.weights.format import make_card, save_system
from image_sets import ANY, EVERY, TOLD, UNTOLD, Family, drawn_sets, untold
from pages import images as page

SETTINGS = {
    "image": (1, 8, 8),
    "convolutions": (4,),
    "embedding": 8,
    "columns": 4,
    "set_statistics": False,
    "width": 16,
    "heads": 2,
    "references": 4,
    "encoder_blocks": 1,
    "decoder_blocks": 0,
    "encode_every": 0,
    "proposal": "anchor",
    "read_width": 8,
}


@pytest.fixture
def pool(monkeypatch):
    """Five classes of 60 images, which are bright in one of their rows."""
    images = np.random.default_rng(0).integers(0, 60, (300, 1, 8, 8)).astype(np.uint8)
    for number in range(5):
        images[60 * number : 60 * number + 60, :, number] += 190
    held = ImagePool(images, np.full(5, 60), tuple("abcde"), np.zeros(5, int), ("all",))
    monkeypatch.setattr(image_sets, "open_pool", lambda name: held)
    monkeypatch.setattr(image_strips, "open_pool", lambda name: held)
    return held


@pytest.fixture
def weights(tmp_path):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = build("amcp", SETTINGS).eval()
    path = tmp_path / "amcp.safetensors"
    save_system(path, system, make_card(system, trained_on="nothing"))
    return path


def test_families_have_all_classes_or_any_number_of_them(pool):
    every = drawn_sets(pool, Family(100, EVERY), 6)
    assert [len(set(each.truth)) for each in every] == [5] * 6
    few = {len(set(each.truth)) for each in drawn_sets(pool, Family(100, ANY), 20)}
    assert few > {1, 5}
    again = drawn_sets(pool, Family(100, EVERY), 6)
    assert all((one.rows == other.rows).all() for one, other in zip(every, again, strict=True))


def test_rows_are_measured_stored_and_rendered(pool, weights, tmp_path, monkeypatch, capsys):
    target = tmp_path / "image_sets.json"
    arguments = ["mnist", f"amcp={weights}", "--sizes", "60", "--sets", "2", "--out", str(target)]
    monkeypatch.setattr(sys, "argv", ["image_sets.py", *arguments])
    merge(target, ("cifar10", "ncp"), {"families": {}})  # of another measurement, which stays
    image_sets.main()
    found = json.loads(target.read_text())
    assert "ncp" in found["cifar10"]
    assert list(found["mnist"]) == ["amcp", "amcp*", "amcp* told k", *TOLD, UNTOLD]
    row = found["mnist"]["amcp"]["families"][f"N = 60, {EVERY}"]
    assert row["sets"] == 2
    assert set(row["metrics"]) == {"acc", "ari", "nmi", "k_error"}
    told = found["mnist"]["amcp* told k"]["families"][f"N = 60, {EVERY}"]
    assert told["metrics"]["k_error"]["mean"] == 0
    assert found["mnist"][TOLD[0]]["families"][f"N = 60, {EVERY}"]["k_exact"] == 1
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "results", lambda name: found)
    table = page.image_sets("mnist")
    assert "| printed | AMCP, printed | 0.9845 ± 0.001 |" in table
    assert f"| N = 60, {EVERY} | AMCP* | " in table
    assert "benchmarks/image_sets.py mnist amcp=" in table
    assert "| AMCP | nothing |" in page.image_classes_seen("mnist")


def test_k_means_may_choose_k_by_itself():
    points = np.random.default_rng(0).normal(size=(90, 3))
    points[:, 0] += 9 * (np.arange(90) % 3)
    labels = untold(points)
    assert len(set(labels)) == 3
    assert all(len(set(labels[first::3])) == 1 for first in range(3))


def test_rows_say_how_the_encoder_was_trained():
    assert page._called("amcp-moco*") == "AMCP*, encoder trained without labels"
    assert page._called("dac-af") == "DAC, anchored filtering"
    assert page._called("amcp* told k") == "AMCP* told k"
    assert page._called("k-means told k") == "k-means told k"


def test_what_has_not_been_measured_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    assert "0.9024" in page.image_sets("cifar10")
    assert "DAC" not in page.image_sets("cifar10")
    assert page.image_studies() == "No results yet.\n"


def test_studies_appear_once_they_are_run(tmp_path, monkeypatch):
    row = {
        "acc": 0.5,
        "acc_updated": 0.75,
        "k_error": 1.0,
        "seconds": 0.1,
        "training_seconds": 90,
        "step": 2000,
        "command": "python benchmarks/image_studies.py em_steps",
    }
    (tmp_path / "image_studies.json").touch()
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "results", lambda name: {"em_steps": {"mnist": {"3": row}}})
    said = page.image_studies()
    assert "| mnist | 3 | 0.500 | 0.750 | 1.00 | 0.100 | 1.5 | 2,000 |" in said
    assert "EM steps T" in said
    assert "E-step" not in said


def test_strips_group_images_and_mark_wrong_ones(pool, weights, tmp_path):
    images = pool.images[[0, 60, 1]]
    picture = image_strips.strip(images, np.array([0, 1, 0]), np.array([False, True, False]))
    assert picture.shape[0] == 8 + 2 * image_strips.GAP
    assert (picture[0, -1] == image_strips.WRONG).all()  # the last cell is the other cluster's
    assert (picture[0, 0] == 255).all()
    target = tmp_path / "strips.png"
    image_strips.draw("mnist", {"amcp": weights}, target)
    assert target.stat().st_size > 1000


def test_studies_vary_one_setting_each():
    assert list(image_studies.variants("em_steps", "mnist")) == ["1", "2", "3", "4", "5"]
    assert list(image_studies.variants("e_step", "mnist")) == ["regular", "ot", "column"]
    assert list(image_studies.variants("classes", "tinyimagenet")) == [
        "20",
        "40",
        "60",
        "80",
        "100",
    ]
    assert "ncp" in image_studies.variants("systems", "cifar10")
    for study in image_studies.STUDIES:
        for changes in image_studies.variants(study, "mnist").values():
            recipe = image_studies.image_set_recipe("mnist", **changes)
            with torch.device("meta"):
                build(recipe.system, recipe.settings)


def test_figures_are_drawn_of_what_there_is(tmp_path):
    curve = [{"step": 1, "seen": 0.5, "unseen": 0.4}, {"step": 9, "seen": 0.9, "unseen": 0.8}]
    row = {"acc": 0.8, "seconds": 0.1, "training_seconds": 90.0, "curve": curve}
    found = {"systems": {"mnist": {"amcp": row, "ncp": row}}, "em_steps": {"mnist": {"1": row}}}
    curves = image_figures.plot_curves(found["systems"]["mnist"])
    assert [line.get_label() for line in curves.axes[1].get_lines()] == ["AMCP", "NCP"]
    assert list(curves.axes[1].get_lines()[0].get_ydata()) == [0.4, 0.8]
    studies = image_figures.plot_studies(found)
    assert len(studies.axes) == 6
    assert list(studies.axes[2].get_lines()[0].get_ydata()) == [1.5, 1.5]
    studies.savefig(tmp_path / "studies.png")


def test_pieces_of_a_training_add_up():
    log = [{"seconds": each} for each in (10.0, 20.0, 5.0, 15.0, 3.0)]
    assert image_studies.seconds_of(log) == 38.0


@pytest.mark.slow
def test_a_study_trains_measures_and_goes_on(tmp_path, monkeypatch):
    pytest.importorskip("lightning")
    if not os.environ.get("COTERIE_DATA"):
        pytest.skip("COTERIE_DATA does not name a folder with the real data sets")
    small = [f"{name}={json.dumps(value)}" for name, value in SETTINGS.items() if name != "image"]
    options = ["em_steps", "--only", "2", "--out", str(tmp_path / "runs"), "--steps", "3"]
    options += ["--set", *small, "comparison=false", "proposals=2", "--source", "n_max=20"]
    options += ["--train", "sets_per_step=2", 'precision="32-true"', "--device", "cpu"]
    options += ["--images", "60", "--sets", "1", "--to", str(tmp_path / "studies.json")]
    monkeypatch.setattr(sys, "argv", ["image_studies.py", *options])
    for _ in range(2):  # the second time it is only measured
        image_studies.main()
    (row,) = json.loads((tmp_path / "studies.json").read_text())["em_steps"]["mnist"].values()
    assert row["step"] == 3
    assert 0 <= row["acc"] <= 1
    scores = tmp_path / "runs" / "em_steps" / "mnist" / "2" / "scores.jsonl"
    assert json.loads(scores.read_text().splitlines()[-1])["step"] == 3
