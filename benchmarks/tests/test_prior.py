import json

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import prior
from bench.suite import SuiteSet
from coterie.data.batch import SetBatch
from coterie.data.priors.universal import Universal
from coterie.palette import TAKEN


def test_purity_is_the_share_of_neighbours_of_the_same_label():
    line = np.arange(12.0)[:, None].astype(np.float32)
    assert prior.purity(line, np.repeat([0, 1], 6)) == pytest.approx(42 / 48)
    assert prior.purity(line, np.zeros(12, dtype=int)) == 1
    assert prior.purity(line, np.array([0] * 11 + [-1])) == 1


def test_clusters_that_nobody_can_miss_are_recovered(blobs):
    points = blobs.points.astype(np.float32)
    scores = prior.recover(SuiteSet("", "", points, blobs.labels))
    methods = {"k-means", "mixture", "spectral", "linkage"}
    assert set(scores) == {"purity", *methods, "best", "ceiling"}
    assert min(scores.values()) > 0.99


def test_labels_that_mean_nothing_are_not_recovered(blobs):
    labels = np.random.default_rng(0).integers(3, size=len(blobs.points))
    scores = prior.recover(SuiteSet("", "", blobs.points.astype(np.float32), labels))
    assert max(scores.values()) < 0.5


def test_noise_is_not_scored(blobs):
    points = np.concatenate([blobs.points, [[0.0, 0.0]] * 2]).astype(np.float32)
    scores = prior.recover(SuiteSet("", "", points, np.append(blobs.labels, [-1, -1])))
    assert scores["best"] == 1


def test_sets_come_without_padding_and_empty_columns():
    points = torch.zeros(1, 4, 3)
    points[0, :3, 1] = torch.arange(3.0)
    batch = SetBatch(points, torch.tensor([[True] * 3 + [False]]), torch.tensor([[0, 2, -1, -1]]))
    (one,) = prior.labelled_sets(batch)
    assert one.points.tolist() == [[0], [1], [2]]
    assert one.labels.tolist() == [0, 1, -1]
    assert one.n_clusters == 2
    with pytest.raises(ValueError, match="with labels"):
        next(prior.labelled_sets(SetBatch(points, batch.mask)))


def test_the_picture_has_a_panel_for_each_set():
    batch = Universal(n_max=40, k_max=3, columns=2, noise=1.0).sample(
        40, torch.Generator().manual_seed(0)
    )
    figure = prior.plot_sets(batch)
    assert len(figure.axes) == 40
    first = next(prior.labelled_sets(batch))
    n, d = first.points.shape
    assert figure.axes[0].get_title() == f"n {n}, k {first.n_clusters}, d {d}"
    colours = figure.axes[0].collections[0].get_facecolors()
    assert (colours == to_rgba(TAKEN)).all(1).tolist() == (first.labels < 0).tolist()


def test_table_and_results_name_every_family(tmp_path, capsys, monkeypatch):
    scores = {"sets": 3, "purity": 0.9, "best": 0.8, "lost": 0.0}
    monkeypatch.setattr(prior, "measure", lambda family, n_sets: scores)
    monkeypatch.setattr(prior, "plot_sets", lambda batch: Figure())
    results, picture = tmp_path / "results/prior.json", tmp_path / "images/prior.png"
    prior.main(3, results, picture)
    assert json.loads(results.read_text())["families"]["blobs"] == scores
    assert picture.read_bytes().startswith(b"\x89PNG")
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["family", "sets", "purity", "best", "lost"]
    assert "regions          3     0.900     0.800     0.000" in lines
