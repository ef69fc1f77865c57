import json
from dataclasses import asdict

import pytest
import torch
from torch import Generator

from coterie.data.priors.blend import Blend
from coterie.data.priors.tables import Tables
from coterie.data.priors.universal import Universal

SIZES = {"n_max": 80, "k_max": 4, "columns": 4}
UNIVERSAL, TABLES = Universal(**SIZES), Tables(**SIZES, widest=10)


def seeded(seed: int = 0) -> Generator:
    return Generator().manual_seed(seed)


def test_each_part_has_its_share_of_the_sets():
    batch = Blend(UNIVERSAL, TABLES, 0.25).sample(8, seeded())
    assert batch.points.shape == (8, 80, 4)
    first = UNIVERSAL.sample(6, seeded())
    assert torch.equal(batch.points[:6], first.points)
    assert torch.equal(batch.labels[:6], first.labels)


@pytest.mark.parametrize(("share", "part"), [(0.0, UNIVERSAL), (1.0, TABLES)])
def test_a_part_may_be_all(share, part):
    batch = Blend(UNIVERSAL, TABLES, share).sample(3, seeded())
    assert torch.equal(batch.points, part.sample(3, seeded()).points)


def test_as_tables_they_are_as_wide_as_the_widest():
    batch = Blend(UNIVERSAL, TABLES, 0.5).sample_tables(4, seeded())
    assert batch.points.shape == (4, 80, 10)
    assert (batch.points[:2, :, 4:] == 0).all()


def test_sizes_are_those_of_both_parts():
    blend = Blend(UNIVERSAL, TABLES)
    assert (blend.n_max, blend.k_max, blend.columns) == (80, 4, 4)
    with pytest.raises(ValueError, match="differ in k_max: 4 and 32"):
        Blend(UNIVERSAL, Tables(n_max=80, columns=4))


def test_a_blend_can_be_written_down():
    described = json.loads(json.dumps(asdict(Blend(UNIVERSAL, TABLES))))
    assert described["tables"]["widest"] == 10
    assert described["universal"]["k_max"] == 4
