import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree

from coterie.estimators.registry import clusterer
from coterie.frames.column_parts import Indicators
from coterie.frames.standard import StandardColumns, fit_standard
from coterie.functional.em import Gaussians
from coterie.inference.packing import KNOWN, RULES, Packed, pack, unpack
from coterie.inference.rules import (
    branching,
    direct,
    directions,
    divided,
    full_mixture,
    merged,
    mixture,
    neighbours,
    partition,
    posterior,
    replay,
    wrapped,
)
from coterie.inference.rules.full_mixture import FullMixtureRule
from coterie.inference.rules.mixture import MixtureRule

MODULES = (
    *(branching, direct, directions, divided, full_mixture, merged, mixture, neighbours, partition),
    *(posterior, replay, wrapped),
)


def round_trip(value):
    return unpack(pack(value))


def test_every_rule_there_is_can_be_packed():
    found = {
        each
        for module in MODULES
        for name, each in vars(module).items()
        if name.endswith("Rule") and isinstance(each, type) and each.__module__ == module.__name__
    }
    assert found == {*RULES, wrapped.WrappedRule}  # of which there are only subclasses


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.1, -0.0, 1e-320, float("inf"), "text", (), (1, ("a", None)), torch.float64],
)
def test_plain_values_come_back(value):
    again = round_trip(value)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6)[::-1],
        np.zeros((0, 4), np.float32),
        np.array([True, False]),
        np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    ],
)
def test_arrays_come_back_with_their_layout(array):
    again = round_trip(array)
    np.testing.assert_array_equal(again, array)
    assert again.dtype == array.dtype
    if min(array.strides) > 0:
        assert np.argsort(again.strides).tolist() == np.argsort(array.strides).tolist()
    as_tensor = round_trip(torch.from_numpy(array.copy(order="K")))
    np.testing.assert_array_equal(as_tensor.numpy(), array)


def test_trees_and_fields_come_back():
    points = np.random.default_rng(0).normal(size=(40, 3))
    tree = cKDTree(points)
    found = round_trip(tree).query(points, k=3)[1]
    np.testing.assert_array_equal(found, tree.query(points, k=3)[1])
    assert round_trip(Indicators(("a", "b"), 0.3)) == Indicators(("a", "b"), 0.3)


def test_full_mixtures_come_back():
    random = np.random.default_rng(0)
    weight, mean, whitening = (
        torch.from_numpy(random.normal(size=shape)) for shape in ((2,), (2, 3), (2, 3, 3))
    )
    rule = FullMixtureRule(weight, mean, whitening.abs())
    points = torch.from_numpy(random.normal(size=(20, 3)))
    again = round_trip(rule)
    assert torch.equal(again.log_probabilities(points), rule.log_probabilities(points))
    assert torch.equal(again.unwanted(points), rule.unwanted(points))


def test_what_is_not_known_is_not_packed_and_not_built():
    with pytest.raises(TypeError, match="a Generator cannot be saved"):
        pack((1, torch.Generator()))
    with pytest.raises(KeyError):
        unpack(Packed({"class": "Popen", "fields": {}}, {}))
    with pytest.raises(KeyError):
        unpack(Packed({"tensor": "absent", "axes": []}, {}))
    assert all(name == each.__name__ for name, each in KNOWN.items())


def test_frames_and_mixtures_compute_the_same_bits():
    random = np.random.default_rng(0)
    numbers = random.normal(size=(5, 5))
    frame = StandardColumns(3, numbers[0], numbers[1], numbers[2], numbers[:, :3][::-1])
    table = random.normal(size=(30, 5))
    np.testing.assert_array_equal(round_trip(frame)(table), frame(table))
    parts = Gaussians(*(torch.from_numpy(random.normal(size=s)) for s in ((2,), (2, 2), (2, 2))))
    points = torch.from_numpy(random.normal(size=(9, 2)))
    again = round_trip(MixtureRule(parts))
    assert torch.equal(
        again.log_probabilities(points), MixtureRule(parts).log_probabilities(points)
    )


def rules_in(value):
    """The names of all rules in a packed value."""
    if isinstance(value, list):
        return set().union(*map(rules_in, value))
    if not isinstance(value, dict):
        return set()
    own = {value["class"]} & {rule.__name__ for rule in RULES} if "class" in value else set()
    return own.union(*map(rules_in, value.values()))


def crowd():
    random = np.random.default_rng(0)
    centres = random.uniform(-3, 3, (6, 2))
    return centres[random.integers(0, 6, 200)] + random.normal(0, 0.2, (200, 2))


def assert_same_answers(rule, rows):
    again = round_trip(rule)
    assert torch.equal(again.log_probabilities(rows), rule.log_probabilities(rows))
    assert torch.equal(again.unwanted(rows), rule.unwanted(rows))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_rule_that_a_fit_leaves_comes_back():
    seen = set()
    for weights, asked in (
        ("amcp-mog2d", {}),
        ("amcp-warped2d", {"n_clusters": 30}),
        ("dac-warped2d", {}),
        ("amcp-universal-small", {"noise": True, "n_clusters": 2}),
    ):
        fitted = clusterer(weights, **asked).fit(crowd()).fitted_
        assert_same_answers(fitted.rule, torch.from_numpy(fitted.frame(crowd())))
        seen |= rules_in(pack(fitted.rule).value)
    # Those of a second look, a direct system, a full mixture, a partition and directions have their
    # own tests.
    others = {"BranchingRule", "FramedRule", "DirectRule", "FullMixtureRule", "PartitionRule"}
    others |= {"DirectionRule"}
    assert seen == {rule.__name__ for rule in RULES} - others


def test_partitions_come_back():
    points = crowd().astype(np.float32)
    rule = partition.PartitionRule.of(np.arange(len(points)) % 3, points)
    assert_same_answers(rule, torch.from_numpy(points + 0.1))


def test_directions_come_back():
    points = torch.from_numpy(crowd())
    rule = directions.DirectionRule.of(points, torch.arange(len(points)) % 3, 3)
    assert_same_answers(rule, points + 0.1)


def test_branches_in_frames_of_their_own_come_back():
    fitted = clusterer("amcp-warped2d").fit(crowd()).fitted_
    trunk, frame = fitted.rule, fit_standard(crowd(), 2)
    assert isinstance(trunk, replay.ReplayRule)
    k = trunk.n_clusters
    branches = (wrapped.FramedRule(trunk, frame), trunk, *(None,) * (k - 2))
    rule = branching.BranchingRule(trunk, branches, torch.arange(3 * k - 2).flip(0))
    assert_same_answers(rule, torch.from_numpy(fitted.frame(crowd())))
    packed = pack(rule)
    assert {name.split(".")[0] for name in packed.tensors if "system" in name} == {"system0"}


def test_trees_keep_their_leaves():
    tree = cKDTree(crowd(), leafsize=5)
    again = round_trip(tree)
    assert again.leafsize == 5
    np.testing.assert_array_equal(again.data, tree.data)


def test_answers_of_a_direct_system_come_back(small_dac):
    rule = direct.DirectRule(small_dac, (torch.rand(3, 2),), torch.arange(3), torch.float32)
    again = round_trip(rule)
    assert torch.equal(again.memory[0], rule.memory[0])
    assert (again.clusters.tolist(), again.precision) == ([0, 1, 2], torch.float32)
    for one, other in zip(again.system.parameters(), small_dac.parameters(), strict=True):
        assert torch.equal(one, other)
