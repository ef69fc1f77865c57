"""A boolean is refused wherever an integer is asked for."""

import numpy as np
import pytest

import coterie
from coterie.estimators.integers import Integers, is_integer

TABLE = np.arange(12.0).reshape(6, 2)
ESTIMATORS = (coterie.ACTST, coterie.AMCP, coterie.CHiGac, coterie.DAC, coterie.MiCE, coterie.NCP)
ASKED = [
    pytest.param(estimator, name, id=f"{estimator.__name__}-{name}")
    for estimator in ESTIMATORS
    for name, constraints in estimator._parameter_constraints.items()
    if any(isinstance(each, Integers) for each in constraints)
]


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(("estimator", "name"), ASKED)
def test_a_parameter_that_is_an_integer_is_no_boolean(estimator, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of .* must be an int"):
        estimator(**{name: value}).fit(TABLE)


def test_all_parameters_whose_type_is_an_integer_are_among_these():
    typed = {
        (estimator.__name__, name)
        for estimator in ESTIMATORS
        for name, annotation in estimator.__init__.__annotations__.items()
        if "int" in str(annotation).replace("Sequence[int]", "")
    }
    assert typed == {(each.values[0].__name__, each.values[1]) for each in ASKED}
    assert len(typed) > 15


@pytest.mark.parametrize("bounds", [(True, 3), (1, True), [True, True]])
def test_a_bound_of_a_range_is_no_boolean(bounds):
    with pytest.raises(ValueError, match="n_clusters must be a number, or a range"):
        coterie.DAC(n_clusters=bounds).fit(TABLE)


def test_draws_and_clusters_are_no_booleans():
    model = coterie.DAC().fit(np.random.default_rng(0).normal(size=(40, 2)))
    with pytest.raises(ValueError, match="n_samples must be an integer of 1 or more, got True"):
        model.sample_partitions(True)
    with pytest.raises(ValueError, match="n_samples must be an integer of 1 or more, got True"):
        model.sample(True)
    with pytest.raises(ValueError, match="cluster must be 0 to"):
        model.sample(3, cluster=False)


@pytest.mark.parametrize("value", [1, np.int64(3), np.uint8(2)])
def test_integers_of_numpy_are_integers(value):
    assert is_integer(value)
    assert Integers(1).is_satisfied_by(value)


@pytest.mark.parametrize("value", [True, np.True_, 1.0, "1", None])
def test_what_is_no_integer(value):
    assert not is_integer(value)
    assert not Integers(1).is_satisfied_by(value)
