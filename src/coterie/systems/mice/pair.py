"""A student network and the teacher that follows it as a moving average (MoCo, section 3)."""

import copy

import torch
from torch import Tensor, nn

from coterie.encoders.resnet import ResNet
from coterie.layers.heads import UnitHeads
from coterie.systems.mice.config import MoCoConfig

RAMP = 10  # the teacher follows fast at first: the student's start is worth nothing


class ImageNetwork(nn.Module):
    """A backbone that reads pixels, and heads on it. mean, std: (C, 1, 1)."""

    mean: Tensor
    std: Tensor

    def __init__(self, config: MoCoConfig, n_heads: int) -> None:
        super().__init__()
        self.backbone = ResNet(config.backbone, channels=len(config.mean))
        self.heads = UnitHeads(self.backbone.width, n_heads, config.width)
        for name, values in (("mean", config.mean), ("std", config.std)):
            constant = torch.tensor(values).view(-1, 1, 1)
            self.register_buffer(name, constant, persistent=False)  # the config has them

    def features(self, images: Tensor) -> Tensor:
        """Pixels from 0 to 1, (M, C, H, W) -> (M, F) in float32."""
        return self.backbone((images - self.mean) / self.std).float()


class StudentAndTeacher(nn.Module):
    """Two networks of one shape; only the student learns.

    The teacher is always in evaluation mode, and its batch statistics are averages of the student's
    as its weights are (EMAN, Cai et al. 2021). So no image sees its neighbours in the batch, and
    there is nothing that shuffling would have to hide, as MoCo does with several GPUs.
    """

    def __init__(self, config: MoCoConfig, n_heads: int) -> None:
        super().__init__()
        self.momentum = config.momentum
        self.student = ImageNetwork(config, n_heads)
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.teacher.eval()
        self.register_load_state_dict_pre_hook(_student_from_teacher)

    def train(self, mode: bool = True) -> "StudentAndTeacher":
        """As every module; the teacher stays in evaluation mode."""
        super().train(mode)
        self.teacher.eval()
        return self

    @torch.no_grad()
    def average_teacher(self, step: int) -> None:
        """Move the teacher towards the student, after a step counted from zero."""
        kept = min(self.momentum, (1 + step) / (RAMP + step))
        pairs = zip(_averaged(self.teacher), _averaged(self.student), strict=True)
        teacher, student = zip(*pairs, strict=True)
        torch._foreach_lerp_(teacher, student, 1 - kept)


def _student_from_teacher(
    pair: nn.Module, state: dict[str, Tensor], prefix: str, *_: object
) -> None:
    """A state for inference has the teacher alone; its student is the same network."""
    student, teacher = f"{prefix}student.", f"{prefix}teacher."
    if any(name.startswith(student) for name in state):
        return
    for name in [name for name in state if name.startswith(teacher)]:
        state[student + name.removeprefix(teacher)] = state[name]


def _averaged(network: nn.Module) -> list[Tensor]:
    """Weights and running statistics; not the count of batches."""
    buffers = (buffer for buffer in network.buffers() if buffer.is_floating_point())
    return [*network.parameters(), *buffers]


def use_sgd(system: nn.Module, config: MoCoConfig, rate: float) -> torch.optim.SGD:
    """SGD over all weights that learn, as a captured step can take it on a GPU."""
    learning = [weight for weight in system.parameters() if weight.requires_grad]
    return torch.optim.SGD(
        learning,
        rate,
        momentum=config.sgd_momentum,
        weight_decay=config.weight_decay,
        fused=learning[0].is_cuda,
    )
