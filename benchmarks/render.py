"""Put the tables of benchmarks/results into the README and the model cards.

Between the marks `<!-- results NAME -->` and `<!-- end -->` stands what this script wrote; a test
holds that it is what the results say. Run it with `make figures`.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "src/coterie/weights/dac-mog2d.md")
SHIPPED = "--weights dac-mog2d"
MARKED = re.compile(r"(<!-- results (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rendered(page: str) -> str:
    """The page with every marked part written anew."""
    return MARKED.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], page)


def peers() -> str:
    """Everybody on the same sets, both settings beside each other."""
    data = results("mog")
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


def ours() -> str:
    """Our systems on all sets, with the oracle."""
    data = results("mog")
    lines = [
        "| setting | | ARI | NMI | ACC | k-MAE | LL - oracle | network's own LL - oracle |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for setting in data["settings"]:
        prior = setting["prior"]
        for method in standing(setting["ours"]):
            cells = [f"({prior['n_max']}, {prior['k_max']})", method["name"]]
            cells += [cell(method, key) for key in ("ari", "nmi", "acc", "k_mae")]
            cells += [cell(method, key) for key in ("ll_minus_oracle", "network_ll_minus_oracle")]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{where(data, data['settings'][0]['ours']['n_sets'])}\n"


TABLES = {"mog-peers": peers, "mog-ours": ours}


def results(name: str) -> dict[str, Any]:
    """What a benchmark wrote."""
    found: dict[str, Any] = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())
    if not found["command"].endswith(SHIPPED):
        raise SystemExit(f"benchmarks/results/{name}.json is not of the shipped model")
    return found


def standing(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The methods that were compared, and the oracle last."""
    return [*data["methods"], data["oracle"]]


def mean(method: dict[str, Any], metric: str) -> float:
    """The mean of a metric over the sets."""
    return float(method["metrics"][metric]["mean"])


def cell(method: dict[str, Any], metric: str) -> str:
    """A metric with its standard error."""
    found = method["metrics"].get(metric)
    if found is None:
        return ""
    error = found["standard_error"]
    return f"{found['mean']:.3f}" + ("" if error is None else f" ± {error:.3f}")


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
