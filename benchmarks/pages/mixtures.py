"""Sets drawn from priors: everybody, ours on all sets, and ours below a paper's tables."""

from math import isclose
from typing import Any

from pages.cells import cell, grid, mean, seconds
from pages.results import results
from pages.where import where

METRICS = (
    ("ari", "ARI"),
    ("nmi", "NMI"),
    ("acc", "ACC"),
    ("k_mae", "k-MAE"),
    ("network_ll", "LL"),
    ("ll_per_pixel", "LL per pixel"),
    ("ll_minus_oracle", "LL - oracle"),
    ("network_ll_minus_oracle", "network's own LL - oracle"),
)
SETTING = "(n_max, k_max)"
PRINTED = {"LL": "ll", "LL/pixel": "ll_per_pixel", "ARI": "ari", "NMI": "nmi", "k-MAE": "k_mae"}


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
    return compared(results(benchmark), "ours", model)


def everybody(benchmark: str) -> str:
    """All methods on the first sets of a benchmark, with the oracle."""
    return compared(results(benchmark), "everybody")


def compared(data: dict[str, Any], part: str, model: str = "") -> str:
    """The methods that were compared on the same sets, or one model of them."""
    methods = [
        (setting["title"], method)
        for setting in data["settings"]
        for method in standing(setting[part])
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
    for title, method in methods:
        cells = [title, method["name"]]
        cells += [cell(method, metric) for metric, _ in columns]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{where(data, *sizes(data, part))}\n"


def printed(benchmark: str) -> str:
    """The tables of a paper, ours below each setting; ONE+OTHER: of two runs on the same sets."""
    runs = [results(name) for name in benchmark.split("+")]
    data, parts = on_same_sets(runs), []
    for table in data["printed"]:
        columns = [name for name in table["rows"][0] if name not in (SETTING, "method")]
        lines = [f"| setting | | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns)]
        for setting in data["settings"]:
            for name, cells in beside(table, setting, columns):
                lines.append(f"| {setting['title']} | {name} | {' | '.join(cells)} |")
        source = table["source"].removeprefix("paper: ")
        parts.append(f"**{source}**: {table['note']}.\n\n" + "\n".join(lines))
    lines = [where(run, *sizes(run, "ours")) for run in runs]
    return "\n\n".join([*parts, *lines]) + "\n"


def times(benchmark: str) -> str:
    """How many times as long as the first method of a run, DAC, the others took."""
    data = results(benchmark)
    first, *others = data["settings"][0]["ours"]["methods"]
    kinds = ("seconds_median", "seconds_mean")
    rows = [
        [each["name"], *(f"{each[kind] / first[kind]:,.0f}" for kind in kinds)] for each in others
    ]
    header = ["", f"times as long as {first['name']}, by the median", "by the mean"]
    return f"{grid(header, rows)}\n\n{where(data, *sizes(data, 'ours'))}\n"


def sizes(data: dict[str, Any], part: str) -> list[int]:
    """How many sets of each setting were clustered."""
    return [setting[part]["n_sets"] for setting in data["settings"]]


def on_same_sets(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The first run, with the methods of the others among its own."""
    first, *others = runs
    for other in others:
        for setting, same in zip(first["settings"], other["settings"], strict=True):
            oracle, again = (
                each["ours"]["oracle"]["metrics"]["ll"]["mean"] for each in (setting, same)
            )
            # The same sets on another machine: their oracles differ in the last digits.
            if setting["title"] != same["title"] or not isclose(oracle, again, rel_tol=1e-6):
                raise ValueError(f"{other['command']} has other sets than {first['command']}")
            setting["ours"]["methods"] += same["ours"]["methods"]
    return first


def beside(
    table: dict[str, Any], setting: dict[str, Any], columns: list[str]
) -> list[tuple[str, list[str]]]:
    """Names and cells of one setting, the paper's and ours; none where it has no such setting."""
    size = setting["title"].partition(")")[0]  # of settings that share it, all are compared
    # A table of one setting names it in its note.
    theirs = [row for row in table["rows"] if size in row.get(SETTING, table["note"])]
    if not theirs:
        return []
    rows = [(f"paper: {row['method']}", [row[name] or "" for name in columns]) for row in theirs]
    for method in standing(setting["ours"]):
        rows.append((f"ours: {method['name']}", [like_printed(method, name) for name in columns]))
    for method in told_k(setting):
        name = f"{method['name']}, {method['n_sets']} sets"
        rows.append((f"here: {name}", [like_printed(method, column) for column in columns]))
    return rows


def told_k(setting: dict[str, Any]) -> list[dict[str, Any]]:
    """The methods that were given the true number of clusters, as some in the papers are."""
    methods = (setting.get("everybody") or {"methods": []})["methods"]
    return [method for method in methods if method["details"].startswith("told the true k")]


def like_printed(method: dict[str, Any], column: str) -> str:
    """Our figure for a column of a paper's table."""
    if column == "seconds":
        return seconds(method)
    if column == "LL" and "network_ll" in method["metrics"]:
        return cell(method, "network_ll")
    return cell(method, PRINTED[column])


def standing(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The methods that were compared, and last the oracle where there is one."""
    return [*data["methods"], *filter(None, [data["oracle"]])]
