"""A compact training state: half precision, split into files of limited size.

The exact state of MiCE on a ResNet-18 is a quarter of a gigabyte. The learnt part, both networks
and the prototypes, is 48 MB in half precision. Momentum and queue are left out: momentum builds up
again within about ten steps, and the teacher refills the queue before the first of them. A run
resumed from pieces is therefore a good continuation, but not bitwise identical.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as tensors_to_bytes

from coterie.files.replacing import replacing
from coterie.systems.registry import build
from coterie.training.checkpoint import save_checkpoint
from coterie.training.recipe import Recipe
from coterie.weights.format import WeightsError, load_tensors

PIECE = int(15.9 * 2**20)  # bytes
LEFT_OUT = "system.queue.keys"
STEP = "step"


def write_pieces(checkpoint: Path, folder: Path, *, size: int = PIECE) -> list[Path]:
    """Split the state of a checkpoint into state.0, state.1 ...; older pieces are deleted."""
    tensors, header = load_tensors(checkpoint)
    halves = {
        name: value.half() if value.is_floating_point() else value
        for name, value in tensors.items()
        if name.startswith("system.") and name != LEFT_OUT
    }
    halves[STEP] = torch.tensor(header["step"])
    packed = tensors_to_bytes(halves)
    folder.mkdir(parents=True, exist_ok=True)
    for old in find_pieces(folder):
        old.unlink()
    paths = []
    for number, start in enumerate(range(0, len(packed), size)):
        paths.append(folder / f"state.{number}")
        with replacing(paths[-1]) as part:
            part.write_bytes(packed[start : start + size])
    return paths


def find_pieces(folder: Path) -> list[Path]:
    """The pieces in a folder, in order."""
    return sorted(folder.glob("state.[0-9]*"), key=lambda path: int(path.suffix[1:]))


def join_pieces(pieces: Sequence[Path], checkpoint: Path, recipe: Recipe) -> int:
    """Make a checkpoint of a recipe from pieces and refill its queue; return its step."""
    try:
        tensors = read_tensors(b"".join(path.read_bytes() for path in pieces))
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"the pieces for {checkpoint} are incomplete: {error}") from error
    step = int(tensors.pop(STEP))
    system: Any = build(recipe.system, recipe.settings)
    state = {name.removeprefix("system."): value for name, value in tensors.items()}
    system.load_state_dict({**state, "queue.keys": system.queue.keys})
    device = "cuda" if torch.cuda.is_available() else "cpu"
    fill_queue(system.to(device), recipe, step)
    save_checkpoint(checkpoint, system, (), step=step, recipe=recipe.describe())
    return step


@torch.no_grad()
def fill_queue(system: Any, recipe: Recipe, step: int) -> None:
    """Fill the queue with the teacher's keys for the views of the preceding steps."""
    queue, device = system.queue, next(system.parameters()).device
    system.eval()
    n_steps = -(-queue.keys.shape[1] // recipe.prior.batch)
    for earlier in range(step - n_steps, step):
        generator = torch.Generator(device).manual_seed(earlier % 2**31)
        clock = torch.tensor(earlier % 2**31, device=device)
        views = recipe.sample(generator, clock).points[0, :, 0]
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            features = system.teacher_features(views)
        queue.enqueue(system.pair.teacher.heads(features)[:, : queue.keys.shape[0]])
