"""Imports point one way: what is below never knows what is above."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import coterie

ROOT = Path(coterie.__file__).parent
MODULES = sorted(
    str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"
)
CHAIN = (
    "files",
    "kernels",
    "functional",
    "layers",
    "densities",
    "mixtures",
    "encoders",
    "frames",
    "systems",
    "ood",
    "weights",
    "judge",
    "export",
    "inference",
    "training",
    "estimators",
    "dask",
    "comparison",
    "playground",
    "cli",
)
# What stands beside the chain, and the little it needs.
BESIDE = {
    "contours": {"palette"},
    "data": {"files", "functional", "frames"},
    "importing": set(),
    "metrics": {"functional"},
    "palette": set(),
    "plots": {"contours", "metrics", "palette", "report"},
    "report": {"data", "files", "palette"},
}
# Who may use what stands beside; a network never sees a prior, a file or a score.
USERS = {
    "contours": {"plots"},
    "data": {"training", "estimators", "dask", "comparison", "playground", "cli"},
    "importing": {"dask", "cli"},
    "metrics": {"training", "plots", "comparison", "playground", "cli"},
    "palette": {"comparison", "playground", "cli"},
    "plots": {"cli"},
    "report": {"playground", "cli"},
}
PLAIN_TYPES = {"coterie.data.batch", "coterie.inference.result"}


def imports_of(module: str) -> list[str]:
    """Everything a module imports, by its full name, wherever in the file the import stands."""
    found = []
    for node in ast.walk(ast.parse((ROOT / module).read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            if node.module == "coterie":
                found += [f"coterie.{alias.name}" for alias in node.names]
            else:
                found.append(str(node.module))
    return found


def ours(imports: list[str]) -> list[str]:
    """The imports from this package; public names by the modules they live in."""
    homes = {f"coterie.{name}": home for name, home in coterie._HOMES.items()}
    inside = [name for name in imports if name.startswith("coterie.")]
    return [homes.get(name, name) for name in inside if name != "coterie.__version__"]


def may_import(importer: str, imported: str) -> bool:
    """Whether a package may import a module, given by its full name."""
    package = imported.split(".")[1]
    if package == importer:
        return True
    if imported in PLAIN_TYPES:
        return importer != "functional"
    if importer in BESIDE:
        return package in BESIDE[importer]
    if package in BESIDE:
        return importer in USERS[package]
    return CHAIN.index(package) < CHAIN.index(importer)


def package_of(module: str) -> str:
    return Path(module).parts[0].removesuffix(".py")


def test_every_package_has_its_place():
    assert {package_of(module) for module in MODULES} <= {*CHAIN, *BESIDE}
    assert {package_of(module) for module in MODULES} >= {"functional", "systems", "estimators"}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    upward = [name for name in ours(imports_of(module)) if not may_import(package_of(module), name)]
    assert upward == []


def test_the_package_knows_nothing_of_the_benchmarks():
    """They import the package and are not installed with it."""
    theirs = {path.stem for path in (ROOT.parent.parent / "benchmarks").glob("[a-z]*")}
    assert {"bench", "pages", "render"} <= theirs
    for module in MODULES:
        assert not {name.split(".")[0] for name in imports_of(module)} & theirs


@pytest.mark.parametrize("module", [m for m in MODULES if package_of(m) == "functional"])
def test_mathematics_imports_torch_alone(module):
    """And operators that are registered with it."""
    for name in imports_of(module):
        top = name.split(".")[0]
        assert (
            top == "torch"
            or top in sys.stdlib_module_names
            or name.startswith(("coterie.functional", "coterie.kernels"))
        )


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("functional", "coterie.data.batch"),
        ("layers", "coterie.systems.dac.minimum_loss"),
        ("systems", "coterie.data.priors.mog"),
        ("systems", "coterie.metrics"),
        ("weights", "coterie.inference.engine"),
        ("inference", "coterie.training.trainer"),
        ("training", "coterie.estimators.dac"),
        ("estimators", "coterie.cli.main"),
        ("data", "coterie.systems.dac.minimum_loss"),
        ("metrics", "coterie.inference.engine"),
    ],
)
def test_the_rule_refuses_what_points_upward(importer, imported):
    assert not may_import(importer, imported)


def modules_after(statement: str) -> set[str]:
    """The modules of a fresh interpreter that has run the statement."""
    script = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_the_package_is_light():
    loaded = modules_after("import coterie")
    assert "coterie" in loaded
    assert not loaded & {"torch", "sklearn", "numpy", "scipy", "matplotlib"}


def test_a_worker_that_draws_rows_loads_no_network():
    pytest.importorskip("dask")
    loaded = modules_after("import coterie.dask.cluster")
    assert not loaded & {"torch", "sklearn", "scipy", "pandas"}


def test_the_client_of_workers_loads_no_network():
    pytest.importorskip("dask")
    loaded = modules_after(
        "import coterie.cli.on_engine, coterie.dask.fitting, coterie.cli.summary"
    )
    assert not loaded & {"torch", "sklearn", "pandas"}


def test_what_workers_are_copies_of_draws_and_labels_rows_and_has_no_estimator():
    pytest.importorskip("dask")
    loaded = modules_after("import coterie.dask.preloaded")
    assert loaded >= {"coterie.dask.cluster", "coterie.estimators.fitted", "torch"}
    assert not loaded & {"sklearn", "pandas", "polars", "scipy.stats", "coterie.training"}


@pytest.mark.parametrize("name", ["AMCP", "cluster", "load"])
def test_estimators_load_what_a_fit_may_need_only_when_it_does(name):
    loaded = modules_after(f"import coterie; coterie.{name}")
    assert "coterie.estimators.amortized" in loaded
    assert not loaded & {
        "coterie.metrics",
        "lightning",
        "matplotlib",
        "polars",
        "sklearn.cluster",
        "sklearn.decomposition",
        "sklearn.metrics",
        "sklearn.neighbors",
    }


def test_public_names_are_loaded_on_first_use():
    for name in coterie.__all__:
        assert getattr(coterie, name) is not None
    assert set(dir(coterie)) == set(coterie.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = coterie.nonsense
