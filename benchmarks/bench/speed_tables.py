"""The tables of `python benchmarks speed`."""

from collections.abc import Sequence

from bench.alone import MIXTURE, REFERENCE, Alone
from bench.batched import Batched
from bench.ceilings import Ceilings, Work
from bench.growth import FITTED_FROM, Growth
from bench.report import EMPTY, Table
from bench.timing import Spread


def tables(
    device: str,
    alone: Alone,
    batched: Batched,
    ceilings: Ceilings,
    work: Sequence[Work],
    growth: Growth,
) -> list[Table]:
    """All parts of a report, in the order of measurement."""
    return [
        alone_table(device, alone),
        batched_table(device, batched),
        ceilings_table(device, ceilings),
        work_table(batched, work),
        growth_table(device, growth),
        exponents_table(growth),
    ]


def alone_table(device: str, alone: Alone) -> Table:
    """Milliseconds of a call on one set."""
    rows = [
        [
            entry.name,
            entry.call,
            *_milliseconds(entry.seconds),
            _number(entry.times_mixture),
            _number(entry.times_reference),
            _number(entry.ari),
            _number(entry.k_mae),
        ]
        for entry in alone.entries
    ]
    header = ["method", "call", "ms", "quartiles", f"x {MIXTURE}", f"x {REFERENCE}", "ARI", "k-MAE"]
    return Table(f"{alone.setting}: one set a call, {alone.n_sets} sets, {device}", header, rows)


def batched_table(device: str, batched: Batched) -> Table:
    """Milliseconds per set of the loop on one batch."""
    rows = [
        [
            f"{lap.name} ({lap.details})",
            lap.precision,
            *_milliseconds(lap.seconds_per_set),
            _number(lap.times_dac),
            str(lap.steps),
            _number(lap.ari),
        ]
        for lap in batched.laps
    ]
    header = ["system", "precision", "ms per set", "quartiles", "x DAC", "steps", "ARI"]
    title = f"{batched.setting}: the loop on one batch of {batched.n_sets} sets, {device}"
    return Table(title, header, rows)


def ceilings_table(device: str, ceilings: Ceilings) -> Table:
    """The peak rates of the device."""
    products = [
        [f"matrix product, {precision}", f"{ceilings.matrix}^3", f"{rate / 1e12:.3g} TFLOP/s"]
        for precision, rate in ceilings.flops_per_second.items()
    ]
    size = f"{ceilings.copied_bytes / 2**20:.0f} MiB"
    copy = ["copy, read and written", size, f"{ceilings.bytes_per_second / 1e9:.4g} GB/s"]
    return Table(
        f"what was measured at most, {device}", ["what", "size", "rate"], [*products, copy]
    )


def work_table(batched: Batched, work: Sequence[Work]) -> Table:
    """The work of the loop on the batch, and its rates."""
    rows = [
        [
            each.name,
            each.precision,
            f"{each.flops / 1e12:.4g}",
            f"{each.flops_per_second / 1e12:.3g}",
            _number(each.share_of_product),
            f"{each.bytes_moved / 1e9:.4g}",
            f"{each.bytes_per_second / 1e9:.4g}",
            _number(each.share_of_copy),
        ]
        for each in work
    ]
    header = ["system", "precision", "TFLOP", "TFLOP/s", "x product", "GB", "GB/s", "x copy"]
    return Table(f"{batched.setting}: work of the loop on the batch", header, rows)


def growth_table(device: str, growth: Growth) -> Table:
    """Seconds and memory at every size."""
    rows = [
        [
            curve.what,
            f"{sample.n_points:.0e}",
            f"{sample.seconds:.4g}",
            f"{sample.peak_bytes / 2**20:.1f}",
            f"{sample.bytes_per_value:.1f}",
            str(sample.n_clusters),
        ]
        for curve in growth.curves
        for sample in curve.samples
    ]
    header = ["what", "points", "seconds", "peak MiB", "bytes per value", "clusters"]
    return Table(f"{growth.weights}: four clusters of growing size, {device}", header, rows)


def exponents_table(growth: Growth) -> Table:
    """The growth of time and memory with the number of points."""
    rows = [
        [
            curve.what,
            curve.stopped or "all sizes",
            _number(curve.time_exponent),
            _number(curve.memory_exponent),
        ]
        for curve in growth.curves
    ]
    title = f"{growth.weights}: exponents fitted from {FITTED_FROM:,} points on"
    return Table(title, ["what", "measured", "of time", "of memory"], rows)


def _milliseconds(seconds: Spread) -> list[str]:
    quartiles = f"{1e3 * seconds.lower:.2f}, {1e3 * seconds.upper:.2f}"
    return [f"{1e3 * seconds.median:.2f}", quartiles]


def _number(value: float | None) -> str:
    return EMPTY if value is None else f"{value:.3f}"
