import pytest

from coterie.playground.settings import Settings


def test_the_defaults_are_modest():
    settings = Settings()
    assert settings.max_points <= 100_000
    assert settings.max_bytes <= 50_000_000
    assert settings.seconds <= 60
    assert 2 <= settings.workers <= 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_points": 0},
        {"max_bytes": -1},
        {"workers": 0},
        {"waiting": -1},
        {"seconds": 0.0},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
    ],
)
def test_limits_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Settings(**wrong)


def test_nobody_need_wait():
    assert Settings(waiting=0).waiting == 0
