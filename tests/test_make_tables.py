import runpy
from pathlib import Path

from coterie.data.folder import read_folder

SCRIPT = Path(__file__).parent.parent / "examples" / "make_tables.py"


def test_the_made_up_tables_can_be_trained_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(SCRIPT), run_name="__main__")
    prior = read_folder("train", "state")
    assert (prior.columns, prior.k_max) == (4, 4)
    assert len(list(Path("test").iterdir())) == 8
