import pytest
import torch

from coterie.functional.fusing import fusible, fusing


@pytest.fixture
def compilations(monkeypatch):
    """What was compiled so far, by a compiler that only makes results negative."""
    compiled = []

    def fake_compile(function):
        compiled.append(function)
        return lambda *args, **kwargs: -function(*args, **kwargs)

    monkeypatch.setattr(torch, "compile", fake_compile)
    return compiled


def plain(x: int, *, more: int = 0) -> int:
    """A sum."""
    return x + more


def test_outside_the_function_itself_runs(compilations):
    assert fusible(plain)(3, more=4) == 7
    assert compilations == []


def test_inside_the_compiled_one_runs(compilations):
    function = fusible(plain)
    with fusing():
        assert function(3, more=4) == -7
    assert compilations == [plain]


def test_it_is_compiled_once_for_many_calls(compilations):
    function = fusible(plain)
    for turn in range(3):
        assert function(turn) == turn
        with fusing():
            assert [function(x, more=turn) for x in (1, 2)] == [-1 - turn, -2 - turn]
    assert compilations == [plain]


def test_each_function_is_compiled_for_itself(compilations):
    def double(x: int) -> int:
        return 2 * x

    one, other = fusible(plain), fusible(double)
    with fusing():
        assert (one(5), other(5)) == (-5, -10)
    assert compilations == [plain, double]


def test_nothing_is_compiled_before_it_is_called(compilations):
    with fusing():
        fusible(plain)
    assert compilations == []


def test_unless_it_is_wanted_nothing_is_compiled(compilations):
    with fusing(False):
        assert fusible(plain)(3) == 3
    assert compilations == []


def test_leaving_restores(compilations):
    function = fusible(plain)
    with fusing():
        pass
    assert function(3) == 3
    with pytest.raises(ZeroDivisionError), fusing():
        function(1 // 0)
    assert function(3) == 3
    assert compilations == []


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("inner", [False, True])
def test_the_innermost_decides(compilations, outer, inner):
    function = fusible(plain)
    sign = {False: 1, True: -1}
    with fusing(outer):
        assert function(3) == 3 * sign[outer]
        with fusing(inner):
            assert function(3) == 3 * sign[inner]
        assert function(3) == 3 * sign[outer]
    assert function(3) == 3
    assert len(compilations) == (outer or inner)


def test_a_function_keeps_its_name_and_docstring():
    function = fusible(plain)
    assert function is not plain
    assert (function.__name__, function.__doc__) == ("plain", "A sum.")
    assert function.__wrapped__ is plain
