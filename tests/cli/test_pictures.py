"""What `--plot` and `--report` draw of a table as people have them."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from typer.testing import CliRunner

from coterie.cli import app as cli
from coterie.report.separation import separation


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    """Incomes and ids of large numbers, and four groups that small numbers tell as well."""
    random = np.random.default_rng(0)
    group = np.repeat([0, 1, 2, 3], 60)
    age = np.take([25, 45, 65, 40], group) + random.normal(0, 3, 240)
    frame = pd.DataFrame(
        {
            "customer_id": 100_000 + random.permutation(240),
            "income": np.take([28e3, 61e3, 39e3, 142e3], group) * random.lognormal(0, 0.1, 240),
            "age": age.round(1),
            "rate": np.take([0.3, 0.05, 0.15, 0.01], group) + random.normal(0, 0.01, 240),
        }
    )
    path = tmp_path_factory.mktemp("customers") / "customers.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(cli.app, list(map(str, arguments)))


def test_a_plot_shows_the_clusters_and_not_the_largest_numbers(
    run, customers, tmp_path, monkeypatch
):
    """On principal components of raw units this was income against id."""
    figures, save = [], Figure.savefig

    def keep(self, *arguments, **settings):
        figures.append(self)
        return save(self, *arguments, **settings)

    monkeypatch.setattr(Figure, "savefig", keep)
    result = run("cluster", customers, "--plot", tmp_path / "p.png")
    assert result.exit_code == 0, result.output
    (figure,) = figures
    outcome = figure.axes[-1]
    places = [np.asarray(dots.get_offsets()) for dots in outcome.collections]
    labels = np.repeat(np.arange(len(places)), [len(each) for each in places])
    assert separation(np.concatenate(places), labels) > 0.97
    assert "customer_id" not in (figure.get_supxlabel(), figure.get_supylabel())


def test_a_report_tells_the_clusters_in_numbers_that_people_write(run, customers, tmp_path):
    report = tmp_path / "r.html"
    assert run("cluster", customers, "--report", report).exit_code == 0
    page = report.read_text()
    assert re.search(r"higher income \(1\d\d,\d{3} against \d\d,\d{3}\)", page)
    assert "is the most probable number" in page
    shown = page.split("<main>")[1].split("<h2>Reproduce")[0]
    assert not re.search(r"\de[+-]\d", re.sub(r"<script.*?</script>", "", shown, flags=re.S))


@pytest.mark.parametrize(("weights", "contours"), [("dac-mog2d", 1), ("amcp-warped2d", 0)])
def test_a_plot_has_contours_where_clusters_have_a_density(
    run, tmp_path, monkeypatch, blobs, weights, contours
):
    table = tmp_path / "blobs.csv"
    pd.DataFrame(blobs.points, columns=["x", "y"]).to_csv(table, index=False)
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: figures.append(figure))
    result = run("cluster", table, "--weights", weights, "--plot", tmp_path / "plot.png")
    assert result.exit_code == 0, result.output
    drawn = [each for axes in figures[0].axes for each in axes.collections]
    assert sum(isinstance(each, ContourSet) for each in drawn) == contours
