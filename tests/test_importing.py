import gc
import subprocess
import sys
from threading import Thread

import pytest

from coterie.importing import defer, imports_of_a_command, imports_to_stay, quick_imports


@pytest.fixture(autouse=True)
def restored():
    """The collector as it was."""
    was_enabled = gc.isenabled()
    yield
    gc.unfreeze()
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("context", [quick_imports, imports_to_stay, imports_of_a_command])
@pytest.mark.parametrize("before", [gc.enable, gc.disable])
def test_the_collector_rests_and_is_then_as_it_was(context, before):
    before()
    was_enabled = gc.isenabled()
    with context():
        assert not gc.isenabled()
    assert gc.isenabled() == was_enabled
    with pytest.raises(ImportError), context():
        raise ImportError
    assert gc.isenabled() == was_enabled


def test_what_was_imported_is_old_and_can_still_be_collected():
    gc.unfreeze()
    with quick_imports():
        made = [[number] for number in range(1_000)]
    assert gc.get_freeze_count() == 0
    oldest = {id(each) for each in gc.get_objects(generation=2)}
    assert all(id(each) in oldest for each in made)


def test_what_others_have_frozen_stays_frozen():
    theirs = [[number] for number in range(1_000)]
    gc.freeze()
    with quick_imports():
        pass
    seen = {id(each) for each in gc.get_objects()}
    assert not any(id(each) in seen for each in theirs)


def test_what_stays_is_never_looked_at_again():
    gc.unfreeze()
    with imports_to_stay():
        made = [[number] for number in range(1_000)]
    seen = {id(each) for each in gc.get_objects()}
    assert not any(id(each) in seen for each in made)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a package that counts how often it is loaded, and takes its time."""
    folder = tmp_path / "slow_package"
    folder.mkdir()
    text = (
        "import time; from slow_package.part import loads; loads.append(1); time.sleep(0.2); a = 1"
    )
    (folder / "__init__.py").write_text(text)
    (folder / "part.py").write_text("loads = []")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder.name
    for name in (folder.name, f"{folder.name}.part"):
        sys.modules.pop(name, None)


def test_a_deferred_module_is_loaded_once_when_it_is_used(module):
    defer(module)
    import slow_package

    assert f"{module}.part" not in sys.modules
    found = []
    threads = [Thread(target=lambda: found.append(slow_package.a)) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    from slow_package.part import loads

    assert (found, loads) == ([1, 1, 1], [1])
    with pytest.raises(AttributeError, match="nothing"):
        _ = slow_package.nothing


def test_a_part_of_a_deferred_module_may_be_imported_alone(module):
    defer(module)
    from slow_package.part import loads

    assert loads == []


def test_what_is_there_already_or_nowhere_is_left_alone():
    before = sys.modules["gc"]
    defer("gc")
    defer("no_such_module")
    assert sys.modules["gc"] is before
    assert "no_such_module" not in sys.modules


def test_deferred_statistics_are_those_of_scipy():
    code = (
        "from coterie.importing import imports_of_a_command\n"
        "with imports_of_a_command():\n"
        "    import sklearn.base, scipy.stats, sys\n"
        "assert 'scipy.stats.distributions' not in sys.modules\n"
        "from scipy.stats import norm\n"
        "assert norm.cdf(0.0) == 0.5"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
