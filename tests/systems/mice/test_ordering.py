import pytest
import torch

from coterie.systems.mice.config import MiCEConfig
from coterie.systems.mice.mice import MiCE
from coterie.systems.mice.ordering import reordered


@pytest.mark.parametrize("single_head", [False, True])
def test_the_clusters_change_places_and_nothing_else(single_head):
    torch.manual_seed(0)
    config = MiCEConfig(
        backbone="small", mean=(0.2,), std=(0.3,), width=8, queue=16, n_clusters=3,
        single_head=single_head,
    )  # fmt: skip
    system = MiCE(config).eval()
    images, order = torch.rand(5, 1, 8, 8), [2, 0, 1]
    before = system.read(images)
    other = reordered(system, order).read(images)
    torch.testing.assert_close(other.posterior, before.posterior[:, order])
    torch.testing.assert_close(other.embeddings, before.embeddings)
    torch.testing.assert_close(system.read(images).posterior, before.posterior)


def test_an_order_holds_every_cluster_once():
    system = MiCE(MiCEConfig(backbone="small", width=8, queue=4, n_clusters=3))
    with pytest.raises(ValueError, match="0 to 2 once"):
        reordered(system, [0, 0, 1])
