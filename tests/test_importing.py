import gc

import pytest

from coterie.importing import imports_to_stay, quick_imports


@pytest.fixture(autouse=True)
def restored():
    """The collector as it was."""
    was_enabled = gc.isenabled()
    yield
    gc.unfreeze()
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("context", [quick_imports, imports_to_stay])
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
