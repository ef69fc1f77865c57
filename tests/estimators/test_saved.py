"""A saved model predicts what it predicted before, and a file that is not whole is refused."""

import json
import struct

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import coterie
from coterie.estimators.registry import clusterer
from coterie.inference.endings import ENDINGS
from coterie.weights.catalogue import open_card
from coterie.weights.checksum import header_checksum
from coterie.weights.format import WeightsError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TABLES = [model for model in coterie.models() if model.reads_tables]
SHIPPED = [model.name for model in TABLES]


def allowed(traits):
    if traits.frame == "standard":
        return ("auto", "network", "judge")
    if traits.density in ("gaussian", "maf"):
        return tuple(ending for ending in ENDINGS if ending not in ("judge", "looks"))
    if traits.looks_again:
        return ("auto", "network", "looks")
    return ("auto", "network")


ALLOWED = {model.name: allowed(model.card.traits) for model in TABLES}


def assert_same(model, again, rows):
    for ask in ("predict", "predict_proba", "unlike"):
        np.testing.assert_array_equal(getattr(again, ask)(rows), getattr(model, ask)(rows))
    assert again.n_clusters_ == model.n_clusters_
    assert again.get_params() == {**model.get_params(), "random_state": again.random_state}


@pytest.fixture
def later():
    """Rows on, between and far from the blobs."""
    random = np.random.default_rng(0)
    return np.concatenate([random.uniform(-6, 7, (60, 2)), [[60.0, -70.0]]])


@pytest.mark.parametrize(
    ("weights", "ending"), [(name, ending) for name in SHIPPED for ending in ALLOWED[name]]
)
def test_every_shipped_model_and_ending_comes_back_to_the_last_bit(
    weights, ending, blobs, later, tmp_path
):
    points = blobs.points
    if open_card(weights).traits.reads_images:
        points, later = (np.kron(each, np.ones(392)) / 150 + 0.5 for each in (points, later))
    model = clusterer(weights, ending=ending).fit(points)
    assert_same(model, coterie.load(model.save(tmp_path / "m.coterie")), later)


@settings(max_examples=15, phases=[Phase.generate])  # to shrink a case takes minutes
@given(data=st.data())
def test_whatever_was_asked_of_it_comes_back(data, tmp_path_factory):
    """Merged, cut, tempered, framed, branching and noisy rules, in any combination."""
    weights = data.draw(st.sampled_from(["amcp-mog2d", "amcp-warped2d", "amcp-universal-small"]))
    asked = {
        "ending": data.draw(st.sampled_from(ALLOWED[weights])),
        "noise": data.draw(st.booleans()),
        "n_clusters": data.draw(st.sampled_from([None, 1, 2, 7, (3, 5)])),
        "min_cluster_size": data.draw(st.sampled_from([1, 12])),
        "context_size": data.draw(st.sampled_from([None, 50])),
    }
    n_columns = data.draw(st.sampled_from([1, 2, 5]))
    random = np.random.default_rng(data.draw(st.integers(0, 9)))
    centres = random.uniform(-3, 3, (4, n_columns))
    points = centres[random.integers(0, 4, 160)] + random.normal(0, 0.3, (160, n_columns))
    model = clusterer(weights, **asked).fit(points)
    path = model.save(tmp_path_factory.mktemp("saved") / "m.coterie")
    assert_same(model, coterie.load(path), random.uniform(-4, 4, (80, n_columns)))


@pytest.fixture
def people():
    random = np.random.default_rng(0)
    group = random.integers(0, 3, 150)
    frame = pd.DataFrame(
        {
            "id": np.arange(150),
            "age": random.normal(20 + 20 * group, 2),
            "town": np.array(["Bonn", "Ulm", "Jena"])[group],
            "member": group > 0,
        }
    )
    frame.loc[::10, "age"] = np.nan
    return frame


@pytest.mark.parametrize("given", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_columns_and_how_they_are_encoded_come_back(people, given, tmp_path):
    model = coterie.AMCP(noise=True).fit(given(people))
    again = coterie.load(model.save(tmp_path / "m.coterie"))
    assert_same(model, again, given(people))
    np.testing.assert_array_equal(again.predict(given(people)), model.labels_)
    assert again.left_out_ == model.left_out_
    assert again.feature_names_in_.tolist() == list(people)
    with pytest.warns(UserWarning, match=r"not present in fit.*'town' \(1 value\)"):
        again.predict(given(people.assign(town=["Paris", *people.town[1:]])))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(given(people.drop(columns="age")))


def test_a_saved_model_can_be_saved_again(people, tmp_path):
    model = coterie.AMCP().fit(people)
    once = model.save(tmp_path / "once.coterie")
    twice = coterie.load(once).save(tmp_path / "twice.coterie")
    assert once.read_bytes() == twice.read_bytes()


def test_a_loaded_model_has_no_labels_and_can_be_fitted_again(blobs, tmp_path):
    loaded = coterie.load(coterie.AMCP("amcp-mog2d").fit(blobs.points).save(tmp_path / "m"))
    assert not hasattr(loaded, "labels_")
    with pytest.raises(AttributeError, match="needs a fit"):
        _ = loaded.k_probabilities_
    for ask in (loaded.sample_partitions, loaded.co_assignment):
        with pytest.raises(AttributeError, match="without X needs a fit"):
            ask()
    assert loaded.co_assignment(blobs.points[:9]).shape == (9, 9)
    assert loaded.fit(blobs.points).n_clusters_ == 3
    assert loaded.k_probabilities_[3] > 0.5


def test_what_is_not_fitted_cannot_be_saved(tmp_path):
    with pytest.raises(Exception, match="not fitted"):
        coterie.AMCP().save(tmp_path / "m.coterie")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def stored(blobs, tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "m.coterie"
    return coterie.AMCP("amcp-mog2d", n_clusters=4).fit(blobs.points).save(path).read_bytes()


def header_of(stored):
    (length,) = struct.unpack("<Q", stored[:8])
    return json.loads(stored[8 : 8 + length]), stored[8 + length :]


def with_header(header, body):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def edited(stored, change):
    """The file with a changed model and the checksum that goes with it."""
    header, body = header_of(stored)
    ours = json.loads(header["__metadata__"]["coterie"])
    change(ours)
    header["__metadata__"]["coterie"] = json.dumps(ours)
    return with_header(header, body)


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(stored, tmp_path, share):
    path = tmp_path / "m.coterie"
    path.write_bytes(stored[: int(len(stored) * share)])
    with pytest.raises(WeightsError, match=r"m\.coterie is damaged"):
        coterie.load(path)


@settings(max_examples=60)
@given(data=st.data())
def test_a_flipped_bit_is_never_unnoticed(stored, tmp_path_factory, data):
    damaged = bytearray(stored)
    damaged[data.draw(st.integers(0, len(stored) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.mktemp("flipped") / "m.coterie"
    path.write_bytes(damaged)
    with pytest.raises(WeightsError):
        coterie.load(path)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "m.coterie"
    with pytest.raises(WeightsError, match="no model at"):
        coterie.load(path)
    path.write_text("x,y\n1,2\n")
    with pytest.raises(WeightsError, match="damaged or not a safetensors"):
        coterie.load(path)
    with pytest.raises(WeightsError, match="holds weights, not a fitted model"):
        coterie.load(coterie.models()[0].path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda ours: sealed(ours, lambda: ours["model"].update(format=2)), "of format 2"),
        (lambda ours: ours["model"].update(n_noise=5), "the checksum of its header"),
        (lambda ours: ours["sha256"].popitem(), "damaged"),
        (lambda ours: sealed(ours, lambda: ours.update(model=3)), "not a fitted model"),
    ],
)
def test_an_edited_header_is_refused(stored, tmp_path, change, words):
    path = tmp_path / "m.coterie"
    path.write_bytes(edited(stored, change))
    with pytest.raises(WeightsError, match=words):
        coterie.load(path)


def sealed(ours, change):
    """Change a header, and its checksum so that it fits."""
    change()
    ours["sha256"]["header"] = header_checksum(ours)


def rule_of(ours):
    return ours["model"]["fitted"][0][1]


@pytest.mark.parametrize(
    "change",
    [
        lambda ours: ours["model"].update(estimator="os.system"),
        lambda ours: ours["model"].update(settings={"nonsense": 1}),
        lambda ours: ours["model"].update(fitted=None),
        lambda ours: rule_of(ours).update({"class": "Popen"}),
        lambda ours: rule_of(ours).update(fields={}),
        lambda ours: rule_of(ours)["fields"].popitem(),
        lambda ours: ours["model"]["fitted"].reverse(),
        lambda ours: ours["model"].update(n_columns=7),
    ],
)
def test_a_forged_model_is_refused_and_nothing_else_happens(stored, tmp_path, change):
    """Whoever edits the content and the checksum gets an error, not another class."""
    path = tmp_path / "m.coterie"
    path.write_bytes(edited(stored, lambda ours: sealed(ours, lambda: change(ours))))
    with pytest.raises(WeightsError, match="not a readable model"):
        coterie.load(path)


def test_a_network_of_another_size_is_not_even_built(blobs, tmp_path):
    model = coterie.AMCP("amcp-mog2d", ending="network").fit(blobs.points)
    path = model.save(tmp_path / "m.coterie")

    def enlarge(ours):
        rule_of(ours)["fields"]["system"]["settings"]["width"] = 2**16

    path.write_bytes(edited(path.read_bytes(), lambda ours: sealed(ours, lambda: enlarge(ours))))
    with pytest.raises(WeightsError, match="do not fit its settings"):
        coterie.load(path)
