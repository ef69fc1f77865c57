import torch

from coterie.systems.mice.config import MiCEConfig
from coterie.systems.mice.mice import MiCE
from coterie.systems.mice.trimming import trimmed
from coterie.weights.compact import save_compact
from coterie.weights.format import load_system, load_tensors


def test_a_compact_file_gives_the_clusters_of_the_trimmed_network(tmp_path):
    torch.manual_seed(0)
    config = MiCEConfig(
        backbone="small", mean=(0.2,), std=(0.3,), shape=(8, 8), width=8, queue=16, n_clusters=3
    )
    system, path = MiCE(config).eval(), tmp_path / "m.safetensors"
    save_compact(path, system, trained_on="nothing", provenance={"recipe": {"name": "none"}})
    tensors, _ = load_tensors(path)
    assert not any(name.startswith("pair.student.") for name in tensors)
    assert {value.dtype for value in tensors.values()} == {torch.float16, torch.int64}
    found, card = load_system(path)
    assert card.traits.item_shape == (1, 8, 8)
    assert card.provenance == {"recipe": {"name": "none"}}
    images = torch.rand(4, 1, 8, 8)
    torch.testing.assert_close(found.read(images), trimmed(system).read(images))
    torch.testing.assert_close(
        found.read(images).posterior, system.read(images).posterior, atol=1e-2, rtol=0
    )
