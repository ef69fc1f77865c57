import torch
from safetensors.torch import load_file, save_file
from torch.nn.functional import normalize

from coterie.systems.mice.config import MiCEConfig
from coterie.systems.mice.mice import MiCE
from coterie.systems.mice.trimming import trimmed

CONFIG = MiCEConfig(backbone="small", mean=(0.1,), std=(0.3,), width=8, queue=400, n_clusters=3)
IMAGES = torch.rand(9, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def made() -> MiCE:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        system = MiCE(CONFIG).eval()
        system.queue.enqueue(normalize(torch.randn(30, 3, 8), dim=-1))
        system.pair.student.heads.weight.data.add_(1.0)  # so that it is not the teacher
    return system


def test_fewer_keys_and_half_precision_leave_the_posterior_much_as_it_was():
    system = made()
    small = trimmed(system, n_keys=200)
    assert small.config.queue == 200
    whole, less = system.read(IMAGES), small.read(IMAGES)
    torch.testing.assert_close(less.posterior, whole.posterior, rtol=0.1, atol=0.02)
    torch.testing.assert_close(less.embeddings, whole.embeddings, rtol=0, atol=5e-3)


def test_the_newest_keys_are_kept():
    system = made()
    small = trimmed(system, n_keys=30)
    torch.testing.assert_close(small.queue.keys, system.queue.keys[:, :30], rtol=0, atol=1e-3)


def test_a_file_needs_the_teacher_alone(tmp_path):
    small = trimmed(made(), n_keys=50)
    state = {
        name: value
        for name, value in small.state_dict().items()
        if not name.startswith("pair.student.")
    }
    save_file({name: value.contiguous() for name, value in state.items()}, tmp_path / "weights")
    again = MiCE(small.config)
    again.load_state_dict(load_file(tmp_path / "weights"))
    again.eval()
    assert torch.equal(again.read(IMAGES).posterior, small.read(IMAGES).posterior)
    assert torch.equal(again.pair.student.heads.weight, again.pair.teacher.heads.weight)
