"""The wheel as a user installs it: `pip install coterie`, and what its extras add."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
EXTRAS = (
    *("cli", "dask", "excel", "hub", "images", "io", "onnx", "playground", "plot", "train"),
    "tune",
)
# What an extra is for: these imports must not need anything that it does not declare.
IMPORTS = {
    "cli": "import coterie.cli.app, coterie.cli.cluster, coterie.cli.models",
    "dask": "import coterie.dask, dask.dataframe, distributed",
    "excel": "import fastexcel, xlsxwriter",
    "hub": "from huggingface_hub import HfApi, hf_hub_download",
    "images": "from coterie.data.images import *; import PIL.Image",
    "io": "import coterie.data.tables.table, polars, pyarrow.parquet",
    "onnx": "import coterie.export.onnx, onnxruntime",
    "playground": "from coterie.playground.app import make_app; import uvicorn",
    "plot": "import coterie.plots",
    "train": "import coterie.training.trainer, coterie.training.callbacks",
    "tune": "from coterie.training.tuning import optuna; optuna()",
}
FIRST_CALL = """
import socket
import numpy as np

def refuse(*_):
    raise AssertionError("asked the network")

socket.socket.connect = refuse
import coterie
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(centre, 0.3, (60, 2)) for centre in ((0, 0), (5, 0), (0, 5))])
labels = coterie.cluster(X)
model = coterie.AMCP().fit(X)
assert (labels == model.labels_).all()
print(coterie.__file__, model.n_clusters_, len(coterie.models()))
"""
# Commands one after another in one process, which imports torch once.
IN_TURN = """
import contextlib, io, json, sys
from coterie.cli import main
answers = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["coterie", *arguments]
    with contextlib.redirect_stderr(io.StringIO()) as told:
        try:
            code = main()
        except SystemExit as ended:
            code = ended.code
    answers.append({"code": code, "stderr": told.getvalue()})
print(json.dumps(answers))
"""
HUB = """
import coterie
for call in (
    lambda: coterie.AMCP.from_pretrained("owner/name"),
    lambda: coterie.AMCP().push_to_hub("owner/name"),
):
    try:
        call()
    except Exception as error:
        print(error)
"""
EVERY_MODULE = """
import importlib, pkgutil
import coterie
names = [each.name for each in pkgutil.walk_packages(coterie.__path__, "coterie.")]
for name in names:
    if not name.endswith("__main__") and not name.startswith("coterie.kernels"):
        importlib.import_module(name)
print(len(names))
"""


def test_the_first_call_needs_the_library_alone_and_no_network(environment, installed, tmp_path):
    run = environment().python("-c", FIRST_CALL, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    where, k, n_models = run.stdout.split()
    assert Path(where).resolve().is_relative_to(installed.resolve())
    assert (k, int(n_models) >= 7) == ("3", True)


def test_the_environment_holds_nothing_that_was_not_declared(environment, tmp_path):
    """The other tests must be able to fail."""
    others = ["typer", "polars", "PIL", "matplotlib", "lightning", "fastapi", "pandas", "onnx"]
    look = f"from importlib.util import find_spec; print([*filter(find_spec, {others})])"
    assert environment().python("-c", look, cwd=tmp_path).stdout == "[]\n"


def test_the_command_says_which_extra_it_needs(environment, tmp_path):
    run = environment().coterie("--help", cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr == ("coterie: the command line needs typer: pip install 'coterie[cli]'\n")


def test_the_command_works_with_its_extra(environment, tmp_path):
    run = environment("cli").coterie("--help", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "cluster" in run.stdout
    run = environment("cli").coterie("models", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "amcp-universal" in run.stdout


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_declares_what_it_needs(extra, environment, tmp_path):
    run = environment(extra).python("-c", IMPORTS[extra], cwd=tmp_path)
    assert run.returncode == 0, run.stderr


def test_all_extras_together_import_every_module(environment, tmp_path):
    run = environment("all").python("-c", EVERY_MODULE, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 100


@pytest.fixture
def folder(tmp_path):
    """A folder with a table, and a folder of images."""
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{y:.3f}" for x, y in rng.normal(size=(40, 2))]
    (tmp_path / "table.csv").write_text("\n".join(["x,y", *rows]))
    (tmp_path / "photos").mkdir()
    for number in range(4):
        Image.new("L", (8, 8), 60 * number).save(tmp_path / "photos" / f"{number}.png")
    return tmp_path


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        (
            ["cli"],
            {
                "io": "cluster table.csv",
                "playground": "serve --port 0",
                "onnx": "export onnx amcp-mog2d --out model",
            },
        ),
        (
            ["cli", "io"],
            {
                "images": "cluster photos",
                "plot": "cluster table.csv --plot clusters.png",
                "train": "train amcp-small --sets . --label x",
            },
        ),
    ],
    ids=lambda given: "-".join(given),
)
def test_a_command_names_the_extra_that_is_missing(present, missing, environment, folder):
    commands = [command.split() for command in missing.values()]
    run = environment(*present).python("-c", IN_TURN, json.dumps(commands), cwd=folder)
    assert run.returncode == 0, run.stderr
    for extra, answer in zip(missing, json.loads(run.stdout), strict=True):
        assert answer["code"] == 2, answer
        assert f"pip install 'coterie[{extra}]'" in answer["stderr"]
        assert len(answer["stderr"].splitlines()) == 1, answer


def test_the_hub_names_its_extra(environment, tmp_path):
    run = environment().python("-c", HUB, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("pip install 'coterie[hub]'") == 2, run.stdout


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top.split("-")[0] for top in tops} == {"coterie"}
    for inside in (
        "coterie/py.typed",
        "coterie/weights/amcp-universal.safetensors",
        "coterie/weights/amcp-universal.md",
        "coterie/playground/static/index.html",
    ):
        assert inside in names
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]


def test_the_questions_say_how_large_it_is(wheel):
    size = sum(each.file_size for each in zipfile.ZipFile(wheel).infolist()) / 1e6
    [said] = re.findall(r"takes about (\d+) MB", (ROOT / "docs/faq.md").read_text())
    assert float(said) == pytest.approx(size, rel=0.1)


def test_the_metadata_say_where_to_look(metadata):
    addresses = dict(each.split(", ") for each in metadata.get_all("Project-URL"))
    assert {"Homepage", "Documentation", "Source", "Changelog"} <= set(addresses)
    assert all(address.startswith("https://") for address in addresses.values())


def test_the_extras_are_those_of_the_docs(metadata):
    declared = set(metadata.get_all("Provides-Extra")) - {"dev", "docs"}
    page = (ROOT / "docs/ecosystem.md").read_text().split("## Extras")[1]
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == declared
    assert declared == {*EXTRAS, "all", "umap"}
