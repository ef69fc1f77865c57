"""The one table of the README: what to take for which data, in five rows."""

from typing import Any

from pages.cells import grid, mean
from pages.results import results

OURS = "amcp-universal"
PEERS = ("HDBSCAN", "k-means + silhouette", "GaussianMixture + BIC")


def summary() -> str:
    """Mean ARI of the default model and its peers on four kinds of data, and their time."""
    public, tables, embeddings = (results(name) for name in ("tables", "table_peers", "embeddings"))
    methods = {method["name"]: method for method in public["methods"]}
    counts = {
        kind: sum(s["kind"] == kind for s in public["sets"]) for kind in methods[OURS]["kinds"]
    }
    rows = [
        [
            f"{counts['2-D shapes']} public sets of shapes in the plane",
            *best([mean(methods[name]["kinds"]["2-D shapes"], "ari") for name in (OURS, *PEERS)]),
        ],
        [
            f"{counts['mixtures']} public mixtures of Gaussians",
            *best([mean(methods[name]["kinds"]["mixtures"], "ari") for name in (OURS, *PEERS)]),
        ],
        [
            f"{tables['tables']} real tables with overlapping classes",
            *best([tables["peers"][name]["ari"]["mean"] for name in ("coterie", *PEERS)]),
        ],
        ["embeddings of 40 unequal topics", *best(of_embeddings(embeddings))],
        [
            "seconds, median public set",
            *(f"{methods[name]['seconds_median']['1']:.2g}" for name in (OURS, *PEERS)),
        ],
    ]
    header = ["mean ARI, number of clusters not given", "coterie", *PEERS]
    runs = [public, tables, embeddings]
    return f"{grid(header, rows)}\n\n{commands(runs)}\n"


def best(scores: list[float | None]) -> list[str]:
    """Scores as cells, the highest in bold; None is a method that was not measured."""
    highest = max(round(score, 2) for score in scores if score is not None)
    return [
        "" if each is None else f"**{each:.2f}**" if round(each, 2) == highest else f"{each:.2f}"
        for each in scores
    ]


def of_embeddings(data: dict[str, Any]) -> list[float | None]:
    """The default model, HDBSCAN, k-means with the silhouette, mixtures: as they come."""
    found = {method["name"]: method["ari"] for method in data["methods"]}
    names = (
        "`coterie.cluster(X)`",
        "HDBSCAN on all columns",
        "k-means + silhouette on 50 principal axes",
        "GaussianMixture + BIC on 50 principal axes",
    )
    return [found.get(name) for name in names]


def commands(runs: list[dict[str, Any]]) -> str:
    """The commands of all rows, the machine and the days."""
    machine = runs[0]["machine"]
    days = sorted({run["date"][:10] for run in runs})
    printed = "; ".join(f"`{run['command']}`" for run in runs)
    return f"{printed}; {machine['cpu']}, {machine['cores']} cores, {' and '.join(days)}."


def topics() -> str:
    """What every method finds of forty topics in embeddings."""
    data = results("embeddings")
    rows = [
        [each["name"], f"{each['ari']:.2f}", ", ".join(str(k) for k in each["k"])]
        for each in sorted(data["methods"], key=lambda method: -method["ari"])
    ]
    machine = data["machine"]
    ran = f"`{data['command']}`: {data['sets']} sets; {machine['cpu']}, {data['date'][:10]}."
    return f"{grid(['', 'mean ARI', 'clusters found'], rows)}\n\n† is given the true k. {ran}\n"
