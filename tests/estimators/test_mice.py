import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import coterie
from coterie.data import collections
from coterie.metrics import accuracy
from coterie.training.epoch_history import EpochHistory
from coterie.training.image_recipes import IMAGE_RECIPES
from coterie.training.trainer import CHECKPOINT
from coterie.weights.format import WeightsError, load_card

QUICK = {"backbone": "small", "epochs": 2, "device": "cpu", "progress": False}


@pytest.fixture(scope="module")
def digits():
    """Two hundred images of MNIST's test set, and their digits."""
    with np.load(Path(__file__).with_name("digits.npz")) as file:
        return file["images"], file["labels"]


@pytest.fixture(scope="module")
def bars():
    """Thirty images of bars, a third of them lying."""
    generator = np.random.default_rng(0)
    images = generator.integers(0, 60, (30, 8, 8), dtype=np.uint8)
    images[:20, :, 2:4] += 150
    images[20:, 4:6, :] += 150
    return images


@pytest.fixture(scope="module")
def trained(bars, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    return coterie.MiCE(n_clusters=3, checkpoint=folder, **QUICK).fit(bars)


@pytest.fixture(scope="module")
def shipped(digits):
    return coterie.MiCE("mice-mnist", n_clusters=10).fit(digits[0])


def test_the_shipped_model_knows_digits_without_having_seen_a_label(digits, shipped):
    images, truth = digits
    assert accuracy(truth, shipped.labels_) > 0.95
    assert np.bincount(shipped.labels_).tolist() == sorted(np.bincount(shipped.labels_))[::-1]
    np.testing.assert_allclose(shipped.probabilities_.sum(1), 1)
    np.testing.assert_array_equal(shipped.predict(images), shipped.labels_)
    embedded = shipped.embed(images[:9] / 255)
    assert embedded.shape == (9, 128)
    np.testing.assert_allclose(np.linalg.norm(embedded, axis=1), 1, atol=1e-5)
    assert shipped.history_ == []


def test_weights_are_trained_before_a_fit(digits):
    images, truth = digits
    assert accuracy(truth[:60], coterie.MiCE("mice-mnist").predict(images[:60])) > 0.9


def test_the_shipped_model_follows_its_recipe():
    card = load_card(coterie.weights.catalogue.find("mice-mnist"))
    recipe = IMAGE_RECIPES["mice-mnist"]()
    assert card.provenance["recipe"] == json.loads(json.dumps(recipe.describe()))
    assert card.trained_on == recipe.trained_on
    # The queue is for training; a thousand keys are enough afterwards.
    kept = {name: value for name, value in recipe.settings.items() if name != "queue"}
    assert (
        kept.items()
        <= {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in card.settings.items()
        }.items()
    )


def test_a_fit_trains_and_labels(bars, trained):
    assert trained.labels_.shape == (30,)
    assert trained.probabilities_.shape == (30, 3)
    assert trained.n_clusters_ == 3
    np.testing.assert_array_equal(trained.predict(bars), trained.labels_)
    assert [line["epoch"] for line in trained.history_] == [1, 2]
    assert set(trained.history_[0]) == {"epoch", "elbo", "entropy", "largest", "smallest"}
    assert 0 <= trained.history_[0]["entropy"] <= np.log(3) + 1e-4
    assert not collections._HELD
    assert not collections._HOLDERS


def test_a_seed_decides_and_a_finished_run_is_not_repeated(bars, trained, monkeypatch):
    steps = []
    monkeypatch.setattr(EpochHistory, "on_step", lambda self, progress: steps.append(1))
    again = clone(trained).fit(bars)
    assert steps == []
    np.testing.assert_array_equal(again.probabilities_, trained.probabilities_)
    fresh = clone(trained).set_params(checkpoint=None).fit(bars)
    assert len(steps) == 2
    np.testing.assert_allclose(fresh.probabilities_, trained.probabilities_, atol=1e-5)
    other = clone(trained).set_params(checkpoint=None, random_state=1).fit(bars)
    assert abs(other.probabilities_ - trained.probabilities_).max() > 1e-4


class Killed(BaseException):
    pass


def test_a_run_that_was_stopped_goes_on_from_its_last_epoch(bars, trained, tmp_path, monkeypatch):
    def die(self, progress):
        seen.append(progress.step)
        if progress.step == 2:
            raise Killed

    seen: list[int] = []
    model = clone(trained).set_params(checkpoint=tmp_path, epochs=3)
    # The history is told of a step after the checkpoint of its epoch is written.
    with monkeypatch.context() as patch:
        patch.setattr(EpochHistory, "on_step", die)
        with pytest.raises(Killed):
            model.fit(bars)
    assert seen == [1, 2]
    assert (tmp_path / CHECKPOINT).exists()
    with monkeypatch.context() as patch:
        patch.setattr(EpochHistory, "on_step", lambda self, step: seen.append(step.step))
        resumed = model.fit(bars)
    assert seen == [1, 2, 3]
    whole = clone(model).set_params(checkpoint=None).fit(bars)
    np.testing.assert_allclose(resumed.probabilities_, whole.probabilities_, atol=1e-6)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_process_leaves_a_folder_that_a_later_fit_can_use(bars, trained, tmp_path):
    code = (
        "import os, signal, sys, numpy as np, coterie\n"
        "from coterie.training.epoch_history import EpochHistory\n"
        "def die(self, progress):\n"
        "    if progress.step == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "EpochHistory.on_step = die\n"
        "coterie.MiCE(n_clusters=3, backbone='small', epochs=3, device='cpu', progress=False,\n"
        "            checkpoint=sys.argv[1]).fit(np.load(sys.argv[2]))\n"
    )
    np.save(tmp_path / "bars.npy", bars)
    arguments = [sys.executable, "-c", code, str(tmp_path / "run"), str(tmp_path / "bars.npy")]
    ended = subprocess.run(arguments, env=os.environ, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    model = clone(trained).set_params(checkpoint=tmp_path / "run", epochs=3).fit(bars)
    assert [line["epoch"] for line in model.history_] == [3]


def test_another_collection_does_not_go_on_with_a_run(bars, trained):
    with pytest.raises(WeightsError, match="another recipe"):
        clone(trained).fit(bars[::-1])


def test_a_saved_model_comes_back(bars, trained, tmp_path):
    path = trained.save(tmp_path / "bars.safetensors")
    again = coterie.load(path)
    np.testing.assert_array_equal(again.predict_proba(bars), trained.predict_proba(bars))
    assert load_card(path).trained_on == "30 images, without labels"
    by_name = coterie.MiCE(path)
    np.testing.assert_array_equal(by_name.predict(bars), trained.labels_)
    second = by_name.save(tmp_path / "second.safetensors")
    np.testing.assert_array_equal(coterie.load(second).predict(bars), trained.labels_)
    with pytest.raises(ValueError, match=r"must end in \.safetensors"):
        trained.save(tmp_path / "model.bin")


def test_training_can_start_from_weights(bars, trained, tmp_path):
    path = trained.save(tmp_path / "bars.safetensors")
    more = coterie.MiCE(path, train=True, **{**QUICK, "epochs": 1}).fit(bars)
    assert len(more.history_) == 1
    assert abs(more.predict_proba(bars) - trained.predict_proba(bars)).max() > 0
    again = coterie.MiCE(path).fit(bars)
    assert again.history_ == []


def test_clusters_without_an_image_are_last(digits):
    images, truth = digits
    model = coterie.MiCE("mice-mnist").fit(images[np.isin(truth, (0, 1, 6))])
    sizes = np.bincount(model.labels_, minlength=10)
    assert model.n_clusters_ == 10
    assert model.clustering_.n_clusters == (sizes > 0).sum() < 10
    assert sizes.tolist() == sorted(sizes)[::-1]
    np.testing.assert_allclose(model.clustering_.probabilities.sum(1), 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "n_clusters is needed"),
        ({"n_clusters": 130}, "129 or less"),
        ({"n_clusters": 31}, "30 images are fewer than 31 clusters"),
        ({"n_clusters": 1}, "n_clusters"),
        ({"n_clusters": 3, "backbone": "vgg"}, "backbone"),
        ({"n_clusters": 3, "epochs": 0}, "epochs"),
        ({"n_clusters": 3, "train": False}, "needs weights"),
        ({"weights": "mice-mnist"}, "8 x 8 pixels, the network was trained on 28 x 28"),
        ({"weights": "mice-mnist", "n_clusters": 9}, "have 10 clusters"),
        ({"weights": "dac-mog2d"}, "of the system 'dac'"),
        ({"n_clusters": 3, "device": "nowhere"}, "no device"),
    ],
)
def test_bad_settings_are_refused_before_the_work_begins(settings, message, bars):
    with pytest.raises(ValueError, match=message):
        coterie.MiCE(progress=False, **settings).fit(bars)


def test_without_weights_there_is_nothing_to_predict_with(bars):
    with pytest.raises(NotFittedError):
        coterie.MiCE(n_clusters=3).predict(bars)


def test_swapped_light_and_dark_are_a_warning(digits):
    images, _ = digits
    with pytest.warns(UserWarning, match="are dark and light swapped"):
        model = coterie.MiCE("mice-mnist").fit(255 - images[:20])
    assert "swapped" in model.clustering_.warnings[0]


def test_tables_are_for_other_estimators():
    with pytest.raises(ValueError, match=r"are for images.*coterie\.MiCE\('mice-mnist'\)"):
        coterie.cluster(np.zeros((5, 2)), weights="mice-mnist")


def test_the_network_of_the_weights_is_not_changed_by_a_fit(digits, shipped):
    model = coterie.MiCE("mice-mnist")
    before = model.predict(digits[0][:20])
    clone(model).fit(digits[0][5:20])
    np.testing.assert_array_equal(model.predict(digits[0][:20]), before)
    assert all(torch.isfinite(each).all() for each in shipped._network.state_dict().values())


@pytest.mark.parametrize("form", ["bytes", "floats", "channels first"])
def test_the_report_shows_the_images_themselves(digits, shipped, tmp_path, form):
    images = digits[0]
    given = {"bytes": images, "floats": images / 255, "channels first": images[:, None]}[form]
    page = coterie.write_report(shipped, given, tmp_path / "r.html", title="digits").read_text()
    assert page.count("Most typical") == 10
    assert page.count("data:image/png;base64,") > 80
    assert "200 images of " in page
    with pytest.raises(ValueError, match="the 200 images of the fit, got 5"):
        coterie.write_report(shipped, given[:5], tmp_path / "r.html")
