"""`consolidate` and `update_previous` work for one more release, as `ending` does, and say so."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from coterie.estimators.amcp import AMCP
from coterie.estimators.dac import DAC
from coterie.estimators.deprecation import DEPRECATED
from coterie.estimators.registry import cluster
from coterie.weights.catalogue import find
from coterie.weights.format import load_system, save_system

# What the keywords were set to, and what says the same today.
COMBINATIONS = [
    ({"consolidate": True}, "consolidate"),
    ({"consolidate": False}, "network"),
    ({"consolidate": False, "update_previous": False}, "network"),
    ({"consolidate": False, "update_previous": True}, "em"),
    ({"consolidate": True, "update_previous": False}, "consolidate"),
    ({"consolidate": True, "update_previous": True}, "consolidate"),
    ({"update_previous": False}, "consolidate"),
    ({"update_previous": True}, "consolidate"),
]
OF_DAC = [each for each in COMBINATIONS if "update_previous" not in each[0]]
QUIET = pytest.mark.filterwarnings("ignore:consolidate and update_previous:FutureWarning")


@pytest.fixture(scope="module")
def crowd():
    """Clusters that touch: every ending finds something else."""
    random = np.random.default_rng(3)
    centres = random.normal(0, 1.2, (9, 2))
    return centres[random.integers(0, 9, 400)] + random.normal(0, 0.3, (400, 2))


def assert_same(old, new):
    np.testing.assert_array_equal(old.labels_, new.labels_)
    np.testing.assert_array_equal(old.probabilities_, new.probabilities_)
    assert old.clustering_.log_likelihood == new.clustering_.log_likelihood
    assert len(old.trace_) == len(new.trace_)


def test_the_endings_differ_on_the_set(crowd):
    found = [
        AMCP("amcp-mog2d", ending=ending).fit(crowd).probabilities_
        for ending in ("network", "em", "consolidate")
    ]
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert found[one].shape != found[other].shape or not np.allclose(found[one], found[other])


@QUIET
@pytest.mark.parametrize(("old", "ending"), COMBINATIONS)
def test_every_combination_means_an_ending(crowd, old, ending):
    assert_same(AMCP("amcp-mog2d", **old).fit(crowd), AMCP("amcp-mog2d", ending=ending).fit(crowd))


@QUIET
@pytest.mark.parametrize(("old", "ending"), OF_DAC)
def test_the_keyword_of_dac_means_an_ending(crowd, old, ending):
    assert_same(DAC(**old).fit(crowd), DAC(ending=ending).fit(crowd))


@QUIET
@pytest.mark.parametrize(
    ("old", "ending"),
    [
        ({"consolidate": np.bool_(False)}, "network"),
        ({"consolidate": np.bool_(False), "update_previous": np.bool_(True)}, "em"),
        ({"consolidate": np.bool_(True)}, "consolidate"),
    ],
)
def test_booleans_of_numpy_mean_the_same(crowd, old, ending):
    assert_same(AMCP("amcp-mog2d", **old).fit(crowd), AMCP("amcp-mog2d", ending=ending).fit(crowd))


@pytest.mark.parametrize(("old", "ending"), COMBINATIONS)
def test_a_fit_warns_once_and_names_the_replacement(blobs, old, ending):
    with pytest.warns(FutureWarning, match="deprecated: use ending") as caught:
        AMCP("amcp-mog2d", **old).fit(blobs.points)
    (warning,) = caught
    named = "auto" if ending == "consolidate" else ending
    assert f'use ending="{named}"' in str(warning.message)
    assert warning.filename == __file__


def test_nothing_is_said_before_the_fit_and_by_predict(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(DAC(consolidate=False)).set_params(consolidate=True)
    with pytest.warns(FutureWarning):
        model.fit(blobs.points)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(blobs.points)
        assert model.k_probabilities_ is not None


def test_without_the_keywords_nobody_is_warned(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ending in ("auto", "network", "em", "consolidate"):
            AMCP("amcp-mog2d", ending=ending).fit(blobs.points)
            DAC(ending=ending).fit(blobs.points)


@pytest.mark.parametrize("old", [{"consolidate": True}, {"update_previous": False}])
@pytest.mark.parametrize("ending", ["network", "em", "consolidate"])
def test_old_and_new_together_are_refused(blobs, old, ending):
    with pytest.raises(ValueError, match=f"ending='{ending}' together with consolidate"):
        AMCP("amcp-mog2d", ending=ending, **old).fit(blobs.points)


# Weights without a density


@QUIET
@pytest.mark.parametrize("weights", ["amcp-warped2d", "amcp-universal-small"])
@pytest.mark.parametrize("old", [old for old, _ in COMBINATIONS[1:5:2]])
def test_without_a_density_the_keywords_change_nothing(blobs, weights, old):
    assert_same(AMCP(weights, **old).fit(blobs.points), AMCP(weights).fit(blobs.points))


def test_without_a_density_the_replacement_is_the_default(blobs):
    with pytest.warns(FutureWarning, match='use ending="auto"'):
        AMCP("amcp-warped2d", consolidate=False).fit(blobs.points)


@pytest.mark.parametrize("weights", ["amcp-warped2d", "amcp-universal-small"])
@pytest.mark.parametrize("ending", ["em", "consolidate"])
def test_an_ending_that_needs_a_density_is_refused(blobs, weights, ending):
    with pytest.raises(ValueError, match=f'ending="{ending}" needs clusters with a Gaussian'):
        AMCP(weights, ending=ending).fit(blobs.points)


def test_without_a_density_the_network_has_the_last_word(blobs):
    assert_same(
        AMCP("amcp-warped2d", ending="network").fit(blobs.points),
        AMCP("amcp-warped2d", ending="auto").fit(blobs.points),
    )


@QUIET
def test_with_a_density_in_the_standard_frame(crowd, tmp_path):
    system, card = load_system(find("dac-mog2d"))
    path = tmp_path / "standard.safetensors"
    standard = replace(card, traits=replace(card.traits, frame="standard"), sizes=None)
    save_system(path, system, standard)
    for old, ending in OF_DAC:
        assert_same(DAC(path, **old).fit(crowd), DAC(path, ending=ending).fit(crowd))


# Elsewhere


@pytest.mark.parametrize("wrong", [{"consolidate": "yes"}, {"consolidate": None}])
def test_what_is_no_boolean_is_refused_as_before(blobs, wrong):
    with pytest.raises(ValueError, match="The 'consolidate' parameter of DAC"):
        DAC(**wrong).fit(blobs.points)
    with pytest.raises(ValueError, match="The 'update_previous' parameter of AMCP"):
        AMCP(update_previous="yes").fit(blobs.points)


@QUIET
def test_the_keywords_go_with_one_call(crowd):
    labels = cluster(crowd, "amcp-mog2d", consolidate=False)
    np.testing.assert_array_equal(labels, cluster(crowd, "amcp-mog2d", ending="network"))


def test_the_keywords_are_not_saved_where_nobody_gave_them(tmp_path):
    folder = AMCP("amcp-mog2d", ending="em").save_pretrained(tmp_path / "model")
    settings = json.loads((folder / "config.json").read_text())["settings"]
    assert settings["ending"] == "em"
    assert not {"consolidate", "update_previous"} & settings.keys()
    assert AMCP.from_pretrained(folder).consolidate == DEPRECATED


def test_a_model_saved_by_an_earlier_release_can_be_used(tmp_path, crowd):
    folder = AMCP("amcp-mog2d").save_pretrained(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    del config["settings"]["ending"]
    config["settings"].update(consolidate=False, update_previous=True)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.warns(FutureWarning, match='use ending="em"'):
        model = AMCP.from_pretrained(folder).fit(crowd)
    assert_same(model, AMCP("amcp-mog2d", ending="em").fit(crowd))
