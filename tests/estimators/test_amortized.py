import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch

from coterie.estimators.amcp import AMCP
from coterie.estimators.dac import DAC
from coterie.systems.amcp import steps as system
from coterie.systems.amcp.config import AMCPConfig
from coterie.weights.catalogue import open_model
from coterie.weights.format import make_card, save_system

COLUMNS = 8


@pytest.fixture(scope="module", params=["plain", "standard"])
def frame(request):
    return request.param


@pytest.fixture(scope="module")
def weights(tmp_path_factory, frame):
    """An untrained network of eight columns."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = system.AMCP(
            AMCPConfig(
                columns=COLUMNS, width=16, read_width=16, heads=2, references=4, encoder_blocks=1
            )
        )
    path = tmp_path_factory.mktemp("weights") / "eight.safetensors"
    save_system(path, network, make_card(network, frame=frame))
    return path


@pytest.fixture(params=[np.float32, np.float64])
def stored(request, tmp_path) -> np.ndarray:
    """Two clusters of 300,000 points in a file that cannot be written."""
    table = np.random.default_rng(0).normal(size=(300_000, COLUMNS)).astype(request.param)
    table[::3] += 20
    np.save(tmp_path / "table.npy", table)
    return np.load(tmp_path / "table.npy", mmap_mode="r")


@contextmanager
def memory() -> Iterator[Callable[[], int]]:
    """What arrays take beyond the start, at the worst moment so far."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("frame", ["plain"], indirect=True)
def test_a_stored_table_is_never_copied_as_a_whole(weights, stored):
    model = AMCP(weights, context_size=500, random_state=0)
    half_a_copy = stored.size * 8 / 2
    with memory() as peak:
        model.fit(stored)
        results = model.labels_.nbytes + model.probabilities_.nbytes
        assert peak() < results + half_a_copy
    with memory() as peak:
        labels = model.predict(stored)
        assert peak() < labels.nbytes + half_a_copy
    assert model.n_clusters_ > 1
    assert (labels == model.labels_).all()


def test_a_stored_table_is_clustered_as_one_in_memory(weights, stored):
    model = AMCP(weights, context_size=500, random_state=0)
    table = np.array(stored[:1000])
    labels = model.fit_predict(stored[:1000])
    assert (model.fit_predict(table) == labels).all()


@pytest.mark.parametrize("frame", ["standard"], indirect=True)
@pytest.mark.parametrize("ending", ["consolidate", "network"])
@pytest.mark.parametrize("columns", [1, 3, COLUMNS])
def test_columns_in_the_standard_frame_may_be_shifted_scaled_and_moved(weights, columns, ending):
    random = np.random.default_rng(0)
    table = random.exponential(size=(200, columns)) + 4 * random.integers(0, 2, (200, 1))
    model = AMCP(weights, ending=ending)
    labels, probabilities = model.fit_predict(table), model.probabilities_
    other = 100 + table[:, ::-1] * random.uniform(0.01, 100, columns)
    assert (model.fit_predict(other) == labels).all()
    np.testing.assert_allclose(model.probabilities_, probabilities, atol=1e-3)
    assert (model.predict(other) == labels).all()


def test_fits_share_the_network_that_labels_exactly(blobs):
    first, second = (DAC(ending="network").fit(blobs.points).fitted_.rule.system for _ in range(2))
    assert first is second
    assert first is open_model("dac-mog2d", dtype=torch.float64)[0]
    assert first.network.membership_head.weight.dtype == torch.float64
    assert open_model("dac-mog2d")[0].network.membership_head.weight.dtype == torch.float32


# Sorted tables


@pytest.fixture(scope="module")
def sampling(tmp_path_factory):
    """A shipped network that finds its clusters on 60 rows."""
    network, card = open_model("dac-mog2d")
    path = tmp_path_factory.mktemp("weights") / "sampling.safetensors"
    save_system(path, network, replace(card, context_size=60))
    return path


def calls_it_strange(model, table, **fit):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.fit(table, **fit)
    return any("their root mean square is" in str(each.message) for each in heard)


ORDERS = {
    "as they are": lambda rows: rows,
    "backwards": lambda rows: rows[::-1],
    "shuffled": lambda rows: np.random.default_rng(0).permutation(rows),
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_rows_that_are_far_away_are_noticed_wherever_they_stand(sampling, blobs, order):
    table = order(np.concatenate([blobs.points, 1e3 + blobs.points]))  # the first are familiar
    assert calls_it_strange(DAC(sampling, random_state=0), table)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_a_few_rows_that_are_far_away_do_not_make_a_table_strange(sampling, blobs, order):
    far = 40 + blobs.points[:60]  # as many as the network sees, but one in fifty
    table = order(np.concatenate([far, np.repeat(blobs.points, 10, axis=0)]))
    assert calls_it_strange(DAC(sampling, random_state=0), far)
    assert not calls_it_strange(DAC(sampling, random_state=0), table)


def test_rows_that_weigh_nothing_do_not_make_a_table_strange(blobs):
    table = np.concatenate([1e3 + blobs.points, blobs.points])
    assert calls_it_strange(DAC(), table)
    assert not calls_it_strange(DAC(), table, sample_weight=np.arange(600) >= 300)
