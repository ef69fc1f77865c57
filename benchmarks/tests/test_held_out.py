import numpy as np
import pytest
import torch

from bench import held_out
from bench.held_out import FAMILIES, PRIOR, held_out_seed, held_out_sets
from coterie.data.batch import SetBatch
from coterie.training.presets import preset
from coterie.training.trainer import step_seed

CPU_BITS = 2**32  # what torch's CPU generator reads of a seed


@pytest.fixture(scope="module")
def sets():
    return held_out_sets(2, seed=0)


@pytest.mark.parametrize("training_seed", [0, 3])
def test_no_training_step_has_such_a_seed(training_seed):
    steps = np.arange(2 * preset("amcp-universal").training.steps)
    trained = {
        step_seed(training_seed, int(step), rank) % CPU_BITS for step in steps for rank in (0, 7)
    }
    held = {held_out_seed(seed, number) for seed in range(3) for number in range(2000)}
    assert len(held) == 3 * 2000
    assert max(held) < CPU_BITS
    assert not held & trained


def test_the_generator_of_a_cpu_reads_no_more_of_a_seed():
    first, second = (torch.Generator().manual_seed(7 + more) for more in (0, CPU_BITS))
    assert torch.equal(torch.rand(3, generator=first), torch.rand(3, generator=second))


def test_every_family_has_its_sets(sets):
    assert tuple(name for name, _ in preset("amcp-universal").prior.shares) == FAMILIES
    assert [given.kind for given in sets] == [name for name in FAMILIES for _ in range(2)]
    assert len({given.name for given in sets}) == len(sets)
    # A fence with too few posts is none: such an enclosure is the scene of its number.
    for alike in ("enclosures", "scenes"):
        differing = [given for given in sets if given.kind != alike]
        assert len({given.points.tobytes() for given in differing}) == len(differing)


def test_sets_hold_no_padding_and_no_empty_column(sets):
    for given in sets:
        n, columns = given.points.shape
        assert given.labels.shape == (n,)
        assert n <= PRIOR.n_max
        assert columns <= PRIOR.columns
        assert (given.points.std(0) > 0).all()
        assert (given.points.std(0) > 0.9).all()  # one, and more where there are tails
        assert (given.points.std(0) < 2).all()
        found = np.unique(given.labels[given.labels >= 0])
        assert found.tolist() == list(range(given.n_clusters))


def test_sets_are_tables_and_not_turned_onto_their_principal_axes():
    """The estimator standardises columns: of principal axes that would make noise of the last."""
    drawn = [given.points for given in held_out_sets(6, seed=0) if given.kind == "blobs"]
    wide = [points for points in drawn if points.shape[1] > 2]
    assert len(wide) >= 2
    for points in wide:
        correlation = np.corrcoef(points.T) - np.eye(points.shape[1])
        assert abs(correlation).max() > 0.1


def test_a_table_that_is_flat_gets_a_little_width_and_no_other():
    line = np.linspace(-1, 1, 9, dtype=np.float32)
    flat = np.stack([line, 2 * line, -line], 1)
    filled = held_out._filled(flat, seed=3)
    assert np.linalg.matrix_rank(filled - filled.mean(0), tol=1e-4) == 3
    np.testing.assert_allclose(filled, flat, atol=0.01)
    np.testing.assert_array_equal(held_out._filled(flat, seed=3), filled)
    assert held_out._filled(filled, seed=3) is filled


def test_tables_of_the_prior_are_not_flat():
    for given in held_out_sets(8, seed=0):
        extent = np.linalg.svd(given.points - given.points.mean(0), compute_uv=False)
        assert extent[-1] > 1e-4 * extent[0]


def test_fewer_sets_are_the_same_sets_and_another_seed_gives_others(sets):
    fewer, others = held_out_sets(1, seed=0), held_out_sets(1, seed=1)
    for given, same, other in zip(sets[::2], fewer, others, strict=True):
        np.testing.assert_array_equal(given.points, same.points)
        np.testing.assert_array_equal(given.labels, same.labels)
        assert given.points.tobytes() != other.points.tobytes()


def test_a_cluster_without_points_is_not_counted(monkeypatch):
    class Prior(type(PRIOR)):
        def sample_tables(self, n_sets, generator):
            points = torch.zeros(1, 4, 3)
            points[0, :3, 1] = torch.arange(3.0)
            mask = torch.tensor([[True, True, True, False]])
            return SetBatch(points, mask, torch.tensor([[0, 2, -1, -1]]))

    monkeypatch.setattr(held_out, "PRIOR", Prior())
    monkeypatch.setattr(held_out, "FAMILIES", ("blobs",))
    (given,) = held_out_sets(1, seed=0)
    assert given.labels.tolist() == [0, 1, -1]
    assert given.points.tolist() == [[0], [1], [2]]


def test_no_sets_are_refused():
    with pytest.raises(ValueError, match="n_sets must be positive, got 0"):
        held_out_sets(0, seed=0)
