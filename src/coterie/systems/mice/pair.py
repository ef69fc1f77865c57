"""A student network and a teacher that is its moving average (MoCo, section 3)."""

import copy

import torch
from torch import Tensor, nn

from coterie.encoders.resnet import ResNet
from coterie.layers.heads import UnitHeads
from coterie.systems.mice.config import MoCoConfig

RAMP = 10  # the momentum is lower at first, so that the initial weights are soon forgotten


class ImageNetwork(nn.Module):
    """A backbone for images, and heads on top of it. mean, std: (C, 1, 1)."""

    mean: Tensor
    std: Tensor

    def __init__(self, config: MoCoConfig, n_heads: int) -> None:
        super().__init__()
        self.backbone = ResNet(config.backbone, channels=len(config.mean))
        self.heads = UnitHeads(self.backbone.width, n_heads, config.width)
        for name, values in (("mean", config.mean), ("std", config.std)):
            constant = torch.tensor(values, device="cpu").view(-1, 1, 1)
            self.register_buffer(name, constant, persistent=False)  # stored in the config

    def features(self, images: Tensor) -> Tensor:
        """Pixels in [0, 1], (M, C, H, W) -> (M, F) in float32."""
        return self.backbone((images - self.mean) / self.std).float()


class StudentAndTeacher(nn.Module):
    """Two networks of the same architecture; only the student is trained.

    The teacher is always in evaluation mode, and its batch statistics are moving averages of the
    student's, as its weights are (EMAN, Cai et al. 2021). So the embedding of an image does not
    depend on the rest of the batch, and the shuffling that MoCo does over several GPUs is not
    needed.
    """

    def __init__(self, config: MoCoConfig, n_heads: int) -> None:
        super().__init__()
        self.momentum = config.momentum
        self.student = ImageNetwork(config, n_heads)
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.teacher.eval()
        self.register_load_state_dict_pre_hook(_student_from_teacher)

    def train(self, mode: bool = True) -> "StudentAndTeacher":
        """Set the mode of the student; the teacher stays in evaluation mode."""
        super().train(mode)
        self.teacher.eval()
        return self

    @torch.no_grad()
    def average_teacher(self, step: int) -> None:
        """Update the teacher's moving average after a step, counted from zero."""
        kept = min(self.momentum, (1 + step) / (RAMP + step))
        pairs = zip(_averaged(self.teacher), _averaged(self.student), strict=True)
        teacher, student = zip(*pairs, strict=True)
        torch._foreach_lerp_(teacher, student, 1 - kept)


def _student_from_teacher(
    pair: nn.Module, state: dict[str, Tensor], prefix: str, *_: object
) -> None:
    """Load the student from the teacher if the state, as for inference, lacks a student."""
    student, teacher = f"{prefix}student.", f"{prefix}teacher."
    if any(name.startswith(student) for name in state):
        return
    for name in [name for name in state if name.startswith(teacher)]:
        state[student + name.removeprefix(teacher)] = state[name].clone()


def _averaged(network: nn.Module) -> list[Tensor]:
    """Weights and running statistics, without the batch counters."""
    buffers = (buffer for buffer in network.buffers() if buffer.is_floating_point())
    return [*network.parameters(), *buffers]


def use_sgd(system: nn.Module, config: MoCoConfig, rate: float) -> torch.optim.SGD:
    """SGD over all trainable weights, fused on a GPU so that the step can be captured."""
    trainable = [weight for weight in system.parameters() if weight.requires_grad]
    return torch.optim.SGD(
        trainable,
        rate,
        momentum=config.sgd_momentum,
        weight_decay=config.weight_decay,
        fused=trainable[0].is_cuda,
    )
