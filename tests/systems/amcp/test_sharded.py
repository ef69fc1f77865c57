"""A set whose points are spread over two processes is clustered as if they were in one."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from coterie.functional.mixing import E_STEPS
from coterie.systems.amcp.config import AMCPConfig

pytestmark = pytest.mark.xdist_group("sharded")  # its processes start once, by one worker

SMALL = AMCPConfig(width=16, read_width=16, heads=2, references=4, em_steps=2, encoder_blocks=1)
CONFIGS = {
    **{e_step: replace(SMALL, e_step=e_step) for e_step in E_STEPS},
    "coupled": replace(SMALL, questions=2, coupling=True),
    "once": replace(SMALL, questions=2, coupling=True, encode_every=0, decoder_blocks=0),
    "anchored": replace(SMALL, proposal="anchor", encode_every=0, coupling=True),
    "anchored-free": replace(SMALL, proposal="anchor", encode_every=0, density="none"),
    "anchored-anew": replace(SMALL, proposal="anchor", encode_every=1),
}
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}

# Two steps of every network, the second after a third of the points have been taken.
RUN = f"""
import sys
from contextlib import nullcontext
from dataclasses import replace
import torch
from safetensors.torch import save_file
from torch import distributed
from coterie.data.batch import SetBatch
from coterie.data.priors.mog import MixtureOfGaussians
from coterie.functional.reduce import sharded
from coterie.systems.amcp.steps import AMCP
from coterie.systems.amcp.config import AMCPConfig

configs = {CONFIGS!r}
folder, rank, world = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
torch.set_grad_enabled(False)
context = nullcontext()
if world > 1:
    meeting = "file://" + folder + "/meeting"
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world)
    context = sharded(distributed.group.WORLD)
whole = MixtureOfGaussians(n_max=30, k_max=4).sample(3, torch.Generator().manual_seed(0))
taken = (torch.arange(30) % 3 == 0)[rank::world]
found = {{}}
with context:
    for name, config in configs.items():
        for dtype in (torch.float32, torch.float64):
            torch.manual_seed(0)
            network = AMCP(config).to(dtype)
            batch = SetBatch(whole.points[:, rank::world].to(dtype), whole.mask[:, rank::world])
            state = network.start(batch)
            first = network.step(state)
            second = network.step(state.after(replace(first, joined=batch.mask & taken)))
            kept = (first.membership_logits, second.membership_logits, second.joined)
            found.update({{f"{{name}} {{dtype}} {{i}}": value for i, value in enumerate(kept)}})
save_file(found, folder + "/found.%d.%d" % (rank, world))
if world > 1:
    distributed.barrier()  # whoever leaves first would pull the connection from under the other
    distributed.destroy_process_group()
"""


def run(folder, rank, world):
    return subprocess.Popen([sys.executable, "-c", RUN, str(folder), str(rank), str(world)])


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    processes = [run(folder, 0, 1), run(folder, 0, 2), run(folder, 1, 2)]
    assert [process.wait(timeout=600) for process in processes] == [0, 0, 0]

    def load(rank, world):
        return load_file(folder / f"found.{rank}.{world}")

    return load(0, 1), (load(0, 2), load(1, 2))


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", CONFIGS)
def test_shards_agree_with_the_whole(found, name, dtype):
    whole, shards = found
    tolerance = TOLERANCE[dtype]
    for rank, shard in enumerate(shards):
        for i in range(3):
            key = f"{name} {dtype} {i}"
            expected = whole[key][:, rank::2]
            torch.testing.assert_close(shard[key], expected, rtol=tolerance, atol=tolerance)
