"""What a system may bring to its own training beside its loss.

Every system has `loss(batch, generator)`: a scalar, or a `Learnt` where a hook needs more of the
step than its loss. Three members are optional; the trainer looks for them and does without:

- `optimizers(config)`: a sequence of optimizers for the training config of a recipe. All of them
  take a step after one backward pass, each scaled by the recipe's schedule from its own rate. The
  default is one Adam over all weights. The system is on its device by then: on a GPU an optimizer
  must be `fused` or `capturable`, or its step cannot be part of a CUDA graph.
- `after_step(step, kept)`: after the optimizers' step number `step`, counted from zero; `kept` is
  what the loss left there. For moving averages and queues.
- `after_epoch(epoch)`: after the last step of an epoch, counted from zero, where the recipe's
  source has epochs. For prototypes.

Hooks run without gradients and outside `forward`. They change buffers (or parameters) of the
system, in place: checkpoints then hold all they did, and a step captured as a CUDA graph reads the
new values where the old ones were. The hooks themselves are not captured; they run after each
replay, so Python numbers such as `step` may steer them.
"""

from typing import Any, NamedTuple

from torch import Tensor


class Learnt(NamedTuple):
    """The loss of a step, a scalar, and the tensors its hook needs, detached.

    `kept` must not share memory with the batch: the next one is drawn into it.
    """

    loss: Tensor
    kept: Any = None
