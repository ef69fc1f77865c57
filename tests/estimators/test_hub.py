import json
import pickle
import shutil
import sys

import huggingface_hub
import numpy as np
import pytest

import coterie
from coterie.weights.catalogue import find
from coterie.weights.format import WeightsError


@pytest.fixture
def folder(tmp_path):
    """A saved model with a setting that is not the default."""
    return coterie.AMCP(context_size=777, random_state=3).save_pretrained(tmp_path / "model")


def test_a_folder_gives_the_same_labels(folder, blobs):
    model = coterie.AMCP.from_pretrained(folder)
    np.testing.assert_array_equal(
        model.fit_predict(blobs.points), coterie.AMCP().fit_predict(blobs.points)
    )


def test_settings_travel_but_not_where_and_from_which_seed_it_runs(folder):
    model = coterie.AMCP.from_pretrained(str(folder))
    assert model.context_size == 777
    assert model.random_state is None
    assert "device" not in json.loads((folder / "config.json").read_text())["settings"]


def test_settings_that_are_given_win(folder):
    assert coterie.AMCP.from_pretrained(folder, context_size=5).context_size == 5


def test_weights_alone_will_do(tmp_path, blobs):
    shutil.copyfile(find("dac-mog2d"), tmp_path / "weights.safetensors")
    assert coterie.DAC.from_pretrained(tmp_path).fit(blobs.points).n_clusters_ == 3


def test_a_model_can_be_saved_where_it_is(folder):
    before = (folder / "weights.safetensors").read_bytes()
    coterie.AMCP.from_pretrained(folder).save_pretrained(folder)
    assert (folder / "weights.safetensors").read_bytes() == before


def test_another_system_is_refused(folder):
    with pytest.raises(WeightsError, match="is of the system 'amcp', not 'dac'"):
        coterie.DAC.from_pretrained(folder)


@pytest.mark.parametrize("config", ["[]", "{", '{"settings": 3}', '{"settings": {"eps": 1}}'])
def test_wrong_settings_are_refused_by_name(folder, config):
    (folder / "config.json").write_text(config)
    with pytest.raises(WeightsError, match=r"config\.json"):
        coterie.AMCP.from_pretrained(folder)


def test_a_folder_without_weights_is_refused_by_name(tmp_path):
    with pytest.raises(WeightsError, match=r"no weights file at .*weights\.safetensors"):
        coterie.AMCP.from_pretrained(tmp_path)


def test_nothing_is_unpickled(tmp_path):
    with (tmp_path / "weights.safetensors").open("wb") as file:
        pickle.dump({"a": 1}, file)
    with pytest.raises(WeightsError, match="damaged or not a safetensors file"):
        coterie.AMCP.from_pretrained(tmp_path)


def test_folders_need_no_hub(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    coterie.AMCP.from_pretrained(folder)
    with pytest.raises(WeightsError, match=r"no folder 'a/b'.*coterie\[hub\]"):
        coterie.AMCP.from_pretrained("a/b")


def test_a_repository_is_fetched_file_by_file(folder, monkeypatch):
    asked = []

    def download(repo_id, filename, *, revision):
        asked.append((repo_id, filename, revision))
        return str(folder / filename)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    model = coterie.AMCP.from_pretrained("somebody/model", revision="v2")
    assert model.context_size == 777
    assert asked == [
        ("somebody/model", "weights.safetensors", "v2"),
        ("somebody/model", "config.json", "v2"),
    ]


def test_a_hub_that_is_not_there_is_told_in_one_sentence(monkeypatch):
    def download(*_, **__):
        raise huggingface_hub.errors.LocalEntryNotFoundError("cannot be found on the disk")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(WeightsError, match="no folder 'a/b', and none from the Hub: cannot be"):
        coterie.AMCP.from_pretrained("a/b")


def test_a_name_that_no_repository_can_have_is_refused():
    with pytest.raises(WeightsError, match="no folder 'a b/c d/e'"):
        coterie.AMCP.from_pretrained("a b/c d/e")


def test_a_push_uploads_what_a_folder_holds(monkeypatch):
    done = {}

    class Hub:
        def __init__(self, token):
            done["token"] = token

        def create_repo(self, repo_id, *, private, exist_ok):
            done["repo"] = (repo_id, private, exist_ok)
            return f"https://hub/{repo_id}"

        def upload_folder(self, *, repo_id, folder_path, commit_message):
            done["model"] = coterie.AMCP.from_pretrained(folder_path).get_params()
            done["to"] = repo_id

    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    address = coterie.AMCP(context_size=99).push_to_hub("me/mine", private=True, token="t")
    assert address == "https://hub/me/mine"
    assert done["token"] == "t"
    assert done["repo"] == ("me/mine", True, True)
    assert done["to"] == "me/mine"
    assert done["model"]["context_size"] == 99
