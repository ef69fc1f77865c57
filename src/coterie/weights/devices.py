"""Where a network can run on this machine."""

import torch


def require_device(name: str) -> None:
    """Raise for a device that this machine does not have, in one sentence."""
    if name == "cpu":
        return
    refusal = ValueError(f"no device {name!r} here; there is {', '.join(_there())}")
    try:
        # A tensor of nothing tells whether torch knows the name and reaches the device behind it.
        kind = torch.empty(0, device=name).device.type
    except (RuntimeError, AssertionError, ImportError) as error:  # torch raises any of these
        raise refusal from error
    if kind == "meta":  # is always there, and computes nothing
        raise refusal


def _there() -> list[str]:
    cuda = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return ["cpu", *cuda, *(["mps"] if torch.backends.mps.is_available() else [])]
