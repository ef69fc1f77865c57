import numpy as np
import pytest

from coterie.report.geography import coordinates

POINTS = np.array([[1.0, 52.5, 13.4, 2.0], [3.0, 48.1, 11.6, 4.0]])


@pytest.mark.parametrize(
    "names",
    [
        ("a", "lat", "lon", "b"),
        ("a", "Latitude", "Longitude", "b"),
        ("a", "pickup_lat", "pickup_lng", "b"),
        ("a", "pickupLatitude", "pickupLongitude", "b"),
        ("a", "LAT (deg)", "LONG (deg)", "b"),
    ],
)
def test_a_pair_is_known_by_its_names(names):
    found = coordinates(POINTS, names)
    assert (found.longitude, found.latitude) == (2, 1)
    assert found.stretch == pytest.approx(1 / np.cos(np.radians(50.3)))


@pytest.mark.parametrize(
    "names",
    [
        ("a", "lat", "b", "c"),
        ("a", "pickup_lat", "dropoff_lon", "b"),
        ("a", "plate", "long_run", "b"),
        ("a", "flat", "salon", "b"),
    ],
)
def test_other_names_are_no_pair(names):
    assert coordinates(POINTS, names) is None


def test_values_beyond_the_earth_are_no_coordinates():
    assert coordinates(10 * POINTS, ("a", "lat", "lon", "b")) is None
