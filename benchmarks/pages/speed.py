"""How fast: one set a call, a batch of sets, and sets of growing size."""

from pages.results import results
from pages.where import where_speed


def alone(device: str) -> str:
    """One set a call: everybody's time, and what it is of the mixture with BIC in the same run."""
    data = results(f"speed-{device}")
    part = data["alone"]
    lines = [
        f"| {part['setting']}, one set a call | | ms | x GaussianMixture + BIC |",
        "|---|---|---|---|",
    ]
    for entry in part["entries"]:
        share = "" if entry["times_mixture"] is None else f"{entry['times_mixture']:.2f}"
        taken = f"{1000 * entry['seconds']['median']:.1f}"
        lines.append(f"| {entry['name']} | {entry['call']} | {taken} | {share} |")
    return "\n".join(lines) + f"\n\n{where_speed(data, part['n_sets'])}\n"


def batched(device: str) -> str:
    """A batch of sets: AMCP and DAC of the same width."""
    data = results(f"speed-{device}")
    part = data["batched"]
    lines = [
        f"| {part['setting']}, batch of {part['n_sets']} | matrix products | ms per set | x DAC |"
        " share of matrix-product ceiling | share of copy ceiling |",
        "|---|---|---|---|---|---|",
    ]
    for lap, work in zip(part["laps"], data["work"], strict=True):
        name = f"{lap['name']} ({lap['details']})"
        taken = f"{1000 * lap['seconds_per_set']['median']:.2f}"
        shares = f"{work['share_of_product']:.1%} | {work['share_of_copy']:.1%}"
        lines.append(
            f"| {name} | {lap['precision']} | {taken} | {lap['times_dac']:.2f} | {shares} |"
        )
    return "\n".join(lines) + f"\n\n{where_speed(data, part['n_sets'])}\n"


def growth(device: str) -> str:
    """One set of growing size: seconds, and memory beyond the input by the value."""
    data = results(f"speed-{device}")
    part = data["growth"]
    sizes = sorted({sample["n_points"] for curve in part["curves"] for sample in curve["samples"]})
    header = ["", *(f"{size:,} points" for size in sizes), "exponent of time", "of memory"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for curve in part["curves"]:
        found = {sample["n_points"]: sample for sample in curve["samples"]}
        cells = [
            f"{found[size]['seconds']:.3f} s, {found[size]['bytes_per_value']:.0f} B"
            if size in found
            else ""
            for size in sizes
        ]
        exponents = (curve["time_exponent"], curve["memory_exponent"])
        cells += ["" if each is None else f"{each:.2f}" for each in exponents]
        lines.append(f"| {curve['what']} | {' | '.join(cells)} |")
    return (
        "\n".join(lines)
        + f"\n\nMemory in bytes per value, beyond the input. {where_speed(data, 1)}\n"
    )
