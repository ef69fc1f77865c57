import runpy
from pathlib import Path

from coterie.data.folder import read_folder

SCRIPT = Path(__file__).parent.parent / "examples" / "make_images.py"


def test_the_digits_can_be_trained_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(SCRIPT), run_name="__main__")
    prior = read_folder("digits/train")
    assert (prior.columns, prior.k_max, prior.n_max) == (16, 7, 1000)
    assert read_folder("digits/test").k_max == 3
    assert [len(list(Path("digits/test", digit).iterdir())) for digit in "789"] == [179, 174, 180]
