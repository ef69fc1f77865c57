import pytest

from coterie.playground.wishes import Wishes, parse_wishes


def test_a_number_a_range_or_nothing():
    assert parse_wishes("", False).arguments == {}
    assert parse_wishes("4", False).arguments == {"n_clusters": 4}
    assert parse_wishes("2-6", True).arguments == {"n_clusters": (2, 6), "noise": True}
    assert parse_wishes("3-3", False) == Wishes((3, 3))


@pytest.mark.parametrize("k", ["0", "-1", "2-", "a", "6-2", "1-9999", "2-3-4", "1.5"])
def test_what_is_no_number_of_clusters_is_refused(k):
    with pytest.raises(ValueError, match="k must be"):
        parse_wishes(k, False)
