from dataclasses import FrozenInstanceError

import pytest

from coterie.systems.traits import FRAMES, Traits


def test_the_columns_of_rows_are_their_width():
    assert Traits((5,)).columns == 5


@pytest.mark.parametrize("shape", [(), (3, 28, 28)])
def test_other_items_have_no_columns(shape):
    with pytest.raises(ValueError, match="are not rows of a table"):
        _ = Traits(shape).columns


def test_little_is_known_of_a_system_by_default():
    traits = Traits((2,))
    assert (traits.density, traits.cluster_scale, traits.k_max) == (None, None, None)
    assert traits.frame == "plain"


@pytest.mark.parametrize("frame", FRAMES)
def test_known_frames_are_accepted(frame):
    assert Traits((2,), frame=frame).frame == frame


@pytest.mark.parametrize("frame", ["robust", "none", "", None])
def test_other_frames_are_refused(frame):
    with pytest.raises(ValueError, match=f"frame must be one of plain, standard, got {frame!r}"):
        Traits((2,), frame=frame)


def test_traits_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Traits((2,)).k_max = 3
