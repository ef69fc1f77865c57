"""Put the tables of benchmarks/results into the README, the docs and the model cards.

Between the marks `<!-- results NAME -->` and `<!-- end -->` stands what this script wrote; a test
holds that it is what the results say. Run it with `make figures`.
"""

import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / name for name in ("amcp.md", "tables.md", "train.md", "which.md")),
    *sorted((ROOT / "src/coterie/weights").glob("*.md")),
)
MARKED = re.compile(r"(<!-- results (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rendered(page: str) -> str:
    """The page with every marked part written anew."""

    def write(found: re.Match[str]) -> str:
        table, _, argument = found[2].partition(":")
        return found[1] + TABLES[table](*filter(None, [argument])) + found[3]

    return MARKED.sub(write, page)


def peers(benchmark: str) -> str:
    """Everybody on the same sets, both settings beside each other."""
    data = results(benchmark)
    first, second = (setting["everybody"] for setting in data["settings"])
    lines = [
        "| | ARI (1000, 4) | k-MAE | seconds | ARI (3000, 12) | k-MAE | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    pairs = zip(standing(first), standing(second), strict=True)
    for one, other in sorted(pairs, key=lambda pair: -mean(pair[1], "ari")):
        cells = [one["name"]]
        for method in (one, other):
            cells += [f"{mean(method, 'ari'):.3f}", f"{mean(method, 'k_mae'):.2f}", seconds(method)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{where(data, first['n_sets'])}\n"


def ours(benchmark: str) -> str:
    """Our models on all sets of a benchmark, with the oracle; BENCHMARK/MODEL: one of them."""
    benchmark, _, model = benchmark.partition("/")
    data = results(benchmark)
    methods = [
        (setting["prior"], method)
        for setting in data["settings"]
        for method in standing(setting["ours"])
        if not model or method["name"].split(",")[0] in (model, "oracle")
    ]
    columns = [
        (metric, title)
        for metric, title in METRICS
        if any(metric in m["metrics"] for _, m in methods)
    ]
    lines = [
        f"| setting | | {' | '.join(title for _, title in columns)} |",
        "|---|---|" + "---|" * len(columns),
    ]
    for prior, method in methods:
        cells = [f"({prior['n_max']}, {prior['k_max']})", method["name"]]
        cells += [cell(method, metric) for metric, _ in columns]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{where(data, data['settings'][0]['ours']['n_sets'])}\n"


def printed(benchmark: str) -> str:
    """The tables of a paper, ours below each setting."""
    data = results(benchmark)
    parts = []
    for table in data["printed"]:
        columns = [name for name in table["rows"][0] if name not in (SETTING, "method")]
        lines = [f"| setting | | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns)]
        for setting in data["settings"]:
            for name, cells in beside(table, setting, columns):
                lines.append(f"| {setting['title']} | {name} | {' | '.join(cells)} |")
        source = table["source"].removeprefix("paper: ")
        parts.append(f"**{source}**: {table['note']}.\n\n" + "\n".join(lines))
    n_sets = data["settings"][0]["ours"]["n_sets"]
    return "\n\n".join(parts) + f"\n\n{where(data, n_sets)}\n"


def beside(
    table: dict[str, Any], setting: dict[str, Any], columns: list[str]
) -> list[tuple[str, list[str]]]:
    """Names and cells of one setting, the paper's and ours; none where it has no such setting."""
    title = setting["title"]
    # A table of one setting names it in its note.
    theirs = [row for row in table["rows"] if title in row.get(SETTING, table["note"])]
    if not theirs:
        return []
    rows = [(f"paper: {row['method']}", [row[name] or "" for name in columns]) for row in theirs]
    for method in standing(setting["ours"]):
        rows.append((f"ours: {method['name']}", [like_printed(method, name) for name in columns]))
    return rows


def like_printed(method: dict[str, Any], column: str) -> str:
    """Our figure for a column of a paper's table."""
    return seconds(method) if column == "seconds" else cell(method, PRINTED[column])


def studies() -> str:
    """A table for each question; recipes without weights are named."""
    data = results("studies")
    settings = data["settings"]
    parts = []
    for study in data["studies"]:
        lines = [
            f"**{study['name']}.** {study['question']}\n",
            "| recipe | answer |" + "".join(f" ARI {s['title']} | k-MAE | ms |" for s in settings),
            "|---|---|" + "---|---|---|" * len(settings),
        ]
        for recipe in study["recipes"]:
            if recipe in data["missing"]:
                lines.append(f"| `{recipe}` | not trained yet |" + " | | |" * len(settings))
                continue
            for ending in study["endings"]:
                words, cells = ENDINGS[ending], []
                for setting in settings:
                    methods = {method["name"]: method for method in setting["ours"]["methods"]}
                    method = methods[f"{recipe}, {words}"]
                    milliseconds = f"{1000 * method['seconds_median']:.1f}"
                    cells += [cell(method, "ari"), cell(method, "k_mae"), milliseconds]
                lines.append(f"| `{recipe}` | {words} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + f"\n\n{where(data, settings[0]['ours']['n_sets'])}\n"


def validation(name: str) -> str:
    """What a training run scored on its test sets, step by step."""
    lines = ["| step | ARI | k-MAE |", "|---|---|---|"]
    for line in (ROOT / f"benchmarks/results/{name}.jsonl").read_text().splitlines():
        scores = json.loads(line)
        lines.append(f"| {scores['step']:,} | {scores['ari']:.3f} | {scores['k_mae']:.2f} |")
    return "\n".join(lines) + "\n"


def tables(part: str = "means") -> str:
    """Everybody on the public sets: the means, or with `tables:sets` every set."""
    data = results("tables")
    return tables_of_sets(data) if part == "sets" else means_by_kind(data)


def families(part: str = "means") -> str:
    """Everybody on fresh sets of each family: the means, `families:k`, or `families:margins`."""
    data = results("families")
    written = {"means": means_by_kind, "k": k_by_family, "margins": margins}
    return written[part](data)


def means_by_kind(data: dict[str, Any]) -> str:
    """The means over all sets and over those of each kind, the ceiling last where there is one."""
    methods, rows = best_first(data), []
    kinds, threads = list(methods[0]["kinds"]), list(methods[0]["seconds_median"])
    header = ["", "ARI", *(f"{kind}" for kind in kinds), "NMI", "k exact", "k within one"]
    header += [f"seconds, {count} thread{'s' if count != '1' else ''}" for count in threads]
    for method in methods:
        metrics = method["all"]["metrics"]
        cells = [called(method), cell(method["all"], "ari")]
        cells += [f"{mean(method['kinds'][kind], 'ari'):.3f}" for kind in kinds]
        cells += [f"{metrics['nmi']['mean']:.3f}"]
        cells += [f"{metrics[share]['mean']:.0%}" for share in ("k_exact", "k_within_one")]
        cells += [f"{method['seconds_median'][count]:.3f}" for count in threads]
        rows.append(cells)
    if "ceiling" in data:
        ceiling = data["ceiling"]
        means = [f"{ceiling['kinds'][kind]['mean']:.3f}" for kind in kinds]
        rows.append(["ceiling", with_error(ceiling["all"]), *means])
    return grid(header, rows) + f"\n\n† is told the true k. {where_tables(data)}\n"


def k_by_family(data: dict[str, Any]) -> str:
    """How often each method finds the true k, and how often it is off by one at most."""
    methods, rows = best_first(data), []
    for method in methods:
        cells = [called(method)]
        for family in method["kinds"].values():
            shares = (mean(family, share) for share in ("k_exact", "k_within_one"))
            cells.append(", ".join(f"{share:.0%}" for share in shares))
        rows.append(cells)
    header = ["", *methods[0]["kinds"]]
    return grid(header, rows) + "\n\nk exact, k within one; the same run. † is told the true k.\n"


def margins(data: dict[str, Any]) -> str:
    """Each of our models, family by family, against its best peer and the ceiling."""
    header = ["", "family", "best peer that chooses k", "ARI - best peer's", "ARI - ceiling"]
    rows = []
    for model, families in data["margins"].items():
        for family, margin in families.items():
            over = [with_error(margin[name]) for name in ("over_best_peer", "over_ceiling")]
            rows.append([model, family, margin["best_peer"], *over])
    return grid(header, rows) + "\n\nMeans of the differences, set by set; the same run.\n"


def calibration() -> str:
    """How sure each model was and how often it was right, family by family."""
    data = results("calibration")
    rows = []
    for model, families in data["models"].items():
        for family, found in families.items():
            shares = [f"{found[name]:.3f}" for name in ("confidence", "right", "ece")]
            rows.append([model, family, f"{found['points']:,}", *shares])
    header = ["", "family", "points", "mean confidence", "share right", "ECE"]
    n_sets, n_bins = data["sets_of_each_family"], data["n_bins"]
    where = f"`{data['command']}`: {n_sets} sets of each family, {n_bins} bins, noise not scored"
    return grid(header, rows) + f"\n\n{where}; {data['date'][:10]}.\n"


def ablations(part: str) -> str:
    """What parts are worth: `networks` with one part less, other ways of `asking`, `projecting`."""
    data = results("ablations")
    rows = data[part]
    if part == "networks":
        families = list(rows[0]["families"])
        header = ["", "public sets", "k within one", "families", *families]
        cells = [
            [f"`{row['name']}`", f"{row['ari']:.3f}", f"{row['k_within_one']:.0%}"]
            + [f"{fmean(row['families'].values()):.3f}"]
            + [f"{row['families'][name]:.2f}" for name in families]
            for row in rows
        ]
    elif part == "asking":
        header = ["", "ARI", "k exact", "k within one"]
        cells = [
            [
                row["name"],
                f"{row['ari']:.3f}",
                f"{row['k_exact']:.0%}",
                f"{row['k_within_one']:.0%}",
            ]
            for row in rows
        ]
    else:
        names = list(rows[0]["sets"])
        header = ["", "mean", *names]
        cells = [
            [row["name"], f"{row['ari']:.3f}", *(f"{row['sets'][name]:.2f}" for name in names)]
            for row in rows
        ]
    machine = data["machine"]
    return (
        grid(header, cells)
        + f"\n\n`{data['command']}`; {machine['cpu']}, {machine['cores']} cores,"
        f" {data['date'][:10]}.\n"
    )


def tables_of_sets(data: dict[str, Any]) -> str:
    """ARI and the k found, a line for each set."""
    methods, rows = data["methods"], []
    for given in data["sets"]:
        found = [method["sets"][given["name"]] for method in methods]
        cells = [f"{given[key]}" for key in ("name", "points", "columns", "clusters")]
        rows.append(cells + [f"{each['ari']:.2f} ({each['k_found']:.0f})" for each in found])
    header = ["set", "points", "columns", "k", *(method["name"] for method in methods)]
    return grid(header, rows) + f"\n\nARI, and in brackets the k found. {where_tables(data)}\n"


def where_tables(data: dict[str, Any]) -> str:
    """The command, the sets, the machine and the days."""
    counts: dict[str, int] = {}
    for given in data["sets"]:
        counts[given["kind"]] = counts.get(given["kind"], 0) + 1
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts))
    earlier = [
        f"{each['name']} ({busy(each['others_cpu_share'])})"
        for each in data["methods"]
        if each["measured"] != [data["date"]]
    ]
    days = sorted({date[:10] for method in data["methods"] for date in method["measured"]})
    kept = f" Runs from before are those of {', '.join(earlier)}." if earlier else ""
    machine = data["machine"]
    return (
        f"`{data['command']}`: {len(data['sets'])} sets of at most {data['k_max']} clusters"
        f" ({kinds}), noise not scored, median seconds; {machine['cpu']}, {machine['cores']} cores,"
        f" {' and '.join(days)}; {busy(machine['others_cpu_share'])}.{kept}"
    )


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
        f"| {part['setting']}, batch of {part['n_sets']} | matrix products | ms a set | x DAC |"
        " of the product's ceiling | of the copy's ceiling |",
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
    return "\n".join(lines) + f"\n\nBytes a value beyond the input. {where_speed(data, 1)}\n"


def where_speed(data: dict[str, Any], n_sets: int) -> str:
    """As `where`, with the GPU where there was one."""
    gpu = data["machine"].get("gpu")
    return where(data, n_sets) + (f" GPU: {gpu}." if gpu else "")


def busy(share: float | None) -> str:
    """How much of the machine others took."""
    if share is None:
        return "load of the machine unknown"
    return f"other processes took {share:.0%} of the machine"


ENDINGS = {
    "network": "as the network says",
    "star": "re-estimated",
    "consolidated": "consolidated",
}
METRICS = (
    ("ari", "ARI"),
    ("nmi", "NMI"),
    ("acc", "ACC"),
    ("k_mae", "k-MAE"),
    ("ll_minus_oracle", "LL - oracle"),
    ("network_ll_minus_oracle", "network's own LL - oracle"),
)
SETTING = "(n_max, k_max)"
PRINTED = {"LL": "ll", "ARI": "ari", "NMI": "nmi", "k-MAE": "k_mae"}
TABLES = {
    "peers": peers,
    "ours": ours,
    "printed": printed,
    "studies": studies,
    "tables": tables,
    "families": families,
    "calibration": calibration,
    "ablations": ablations,
    "alone": alone,
    "batched": batched,
    "growth": growth,
    "validation": validation,
}


def results(name: str) -> dict[str, Any]:
    """What a benchmark wrote."""
    found: dict[str, Any] = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())
    return found


def standing(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The methods that were compared, and last the oracle where there is one."""
    return [*data["methods"], *filter(None, [data["oracle"]])]


def mean(method: dict[str, Any], metric: str) -> float:
    """The mean of a metric over the sets."""
    return float(method["metrics"][metric]["mean"])


def grid(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown; rows that are too short end in empty cells."""
    rule = "|---" * len(header) + "|"
    filled = [row + [""] * (len(header) - len(row)) for row in rows]
    return "\n".join([f"| {' | '.join(header)} |", rule, *(f"| {' | '.join(r)} |" for r in filled)])


def best_first(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The methods by their mean ARI over all sets, the highest first."""
    return sorted(data["methods"], key=lambda method: -mean(method["all"], "ari"))


def called(method: dict[str, Any]) -> str:
    """The name of a method, with a mark where it is told the true k."""
    return str(method["name"]) + (" †" if method["told_k"] else "")


def cell(method: dict[str, Any], metric: str) -> str:
    """A metric with its standard error."""
    found = method["metrics"].get(metric)
    return "" if found is None else with_error(found)


def with_error(estimate: dict[str, Any]) -> str:
    """A mean with its standard error."""
    error = estimate["standard_error"]
    return f"{estimate['mean']:.3f}" + ("" if error is None else f" ± {error:.3f}")


def seconds(method: dict[str, Any]) -> str:
    """The median time of one set."""
    return "" if method["seconds_median"] is None else f"{method['seconds_median']:.3f}"


def where(data: dict[str, Any], n_sets: int) -> str:
    """The command, the machine and the day."""
    machine, others = data["machine"], data["machine"]["others_cpu_share"]
    busy = "" if others is None else f"; other processes took {others:.0%} of the machine"
    return (
        f"`{data['command']}`: {n_sets:,} sets a setting; {machine['cpu']},"
        f" {machine['cores']} cores, {data['date'][:10]}{busy}."
    )


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(rendered(page.read_text()))
