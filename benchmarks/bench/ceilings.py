"""The peak rates of the machine, and the share of them that the network reaches.

Floating-point operations are those of matrix products and attention alone, counted by torch while
the loop runs. Bytes moved are counted operation by operation: all tensors that an operation reads
or writes, except views, as if there were no cache.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from bench.batched import PRECISIONS, Batched, Runner, matmul_precision
from bench.models import run_loop
from bench.timing import timed
from coterie.data.batch import SetBatch
from coterie.systems.protocol import Sequential

BLOCKS = 5
CALLS_PER_BLOCK = {"cpu": 1, "cuda": 10}  # enough work between two readings of the clock


class Ceilings(NamedTuple):
    """The highest measured rates: a product of square matrices, a copy within memory.

    flops_per_second: by the precision of matrix products; bytes_per_second: read and written.
    """

    matrix: int
    copied_bytes: int
    flops_per_second: dict[str, float]
    bytes_per_second: float


class Work(NamedTuple):
    """The work of the loop on one batch, and its rates."""

    name: str
    precision: str
    flops: int
    bytes_moved: int
    flops_per_second: float
    share_of_product: float
    bytes_per_second: float
    share_of_copy: float


class Amount(NamedTuple):
    """Operations and bytes of one run of the loop."""

    flops: int
    bytes_moved: int


def measure_ceilings(device: str, *, matrix: int, copied_bytes: int) -> Ceilings:
    """Measure the device with matrices (matrix, matrix) and a copy of copied_bytes bytes."""
    generator = torch.Generator(device).manual_seed(0)
    left, right = torch.rand(2, matrix, matrix, device=device, generator=generator)
    product = torch.empty_like(left)
    rates = {}
    for precision in PRECISIONS[torch.device(device).type]:
        with matmul_precision(precision):
            seconds = _best(lambda: torch.mm(left, right, out=product), device)
        rates[precision] = 2 * matrix**3 / seconds
    source = torch.ones(copied_bytes // 4, device=device)
    target = torch.empty_like(source)
    seconds = _best(lambda: target.copy_(source), device)
    return Ceilings(matrix, copied_bytes, rates, 2 * copied_bytes / seconds)


def weigh(
    field: Sequence[Runner], batched: Batched, batch: SetBatch, ceilings: Ceilings
) -> tuple[Work, ...]:
    """The work of each lap on the timed batch."""
    amounts: dict[str, Amount] = {}
    works = []
    for runner, lap in zip(field, batched.laps, strict=True):
        if runner.name not in amounts:
            amounts[runner.name] = count(runner.system, batch)
        flops, bytes_moved = amounts[runner.name]
        seconds = lap.seconds_per_set.median * batched.n_sets
        works.append(
            Work(
                runner.name,
                runner.precision,
                flops,
                bytes_moved,
                flops / seconds,
                flops / seconds / ceilings.flops_per_second[runner.precision],
                bytes_moved / seconds,
                bytes_moved / seconds / ceilings.bytes_per_second,
            )
        )
    return tuple(works)


def count(system: Sequential, batch: SetBatch) -> Amount:
    """Operations and bytes of the loop on a batch.

    The operations are counted with attention as plain products, for which torch has a formula on
    every device; the bytes with attention as it runs.
    """
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as operations:
        run_loop(system, batch, record=False)
    with Traffic() as traffic:
        run_loop(system, batch, record=False)
    return Amount(operations.get_total_flops(), traffic.bytes)


class Traffic(TorchDispatchMode):
    """Counts the bytes of all tensors that operations read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if not _only_looks(func):
            leaves = tree_leaves((args, kwargs, result))
            self.bytes += sum(_extent(leaf) for leaf in leaves if isinstance(leaf, Tensor))
        return result


def _only_looks(func: Any) -> bool:
    """Whether an operation returns a view of the same memory."""
    if func is torch.ops.aten._unsafe_view.default:
        return True
    aliases = [given.alias_info for given in func._schema.returns]
    return any(alias is not None and not alias.is_write for alias in aliases)


def _extent(tensor: Tensor) -> int:
    """The bytes of a tensor in memory; an expanded one has fewer than its shape suggests."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


def _best(call: Callable[[], Any], device: str) -> float:
    """The fewest seconds per call over a few blocks of calls, after a warm-up."""
    n_calls = CALLS_PER_BLOCK[torch.device(device).type]

    def block() -> None:
        for _ in range(n_calls):
            call()

    block()
    return min(timed(block, device).seconds for _ in range(BLOCKS)) / n_calls
