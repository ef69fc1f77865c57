"""The public sets, and fresh sets of each family: everybody's scores, and our confidence."""

from typing import Any

from pages.cells import cell, grid, mean, with_error
from pages.results import results
from pages.where import where_run, where_tables


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
    return grid(header, rows) + f"\n\n† is given the true k. {where_tables(data)}\n"


def tables_of_sets(data: dict[str, Any]) -> str:
    """ARI and the k found, a line for each set."""
    methods, rows = data["methods"], []
    for given in data["sets"]:
        found = [method["sets"][given["name"]] for method in methods]
        cells = [f"{given[key]}" for key in ("name", "points", "columns", "clusters")]
        rows.append(cells + [f"{each['ari']:.2f} ({each['k_found']:.0f})" for each in found])
    header = ["set", "points", "columns", "k", *(method["name"] for method in methods)]
    return (
        grid(header, rows)
        + f"\n\nARI, with the number of clusters found in brackets. {where_tables(data)}\n"
    )


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
    return (
        grid(header, rows)
        + "\n\nk exact, k within one, from the same run. † is given the true k.\n"
    )


def margins(data: dict[str, Any]) -> str:
    """Each of our models, family by family, against its best peer and the ceiling."""
    header = [
        "",
        "family",
        "best other method that chooses k",
        "ARI - that method's",
        "ARI - ceiling",
    ]
    rows = []
    for model, families in data["margins"].items():
        for family, margin in families.items():
            over = [with_error(margin[name]) for name in ("over_best_peer", "over_ceiling")]
            rows.append([model, family, margin["best_peer"], *over])
    return grid(header, rows) + "\n\nMeans of the paired differences, from the same run.\n"


def calibration() -> str:
    """How sure each model was and how often it was right, family by family."""
    data = results("calibration")
    rows = []
    for model, families in data["models"].items():
        for family, found in families.items():
            shares = [f"{found[name]:.3f}" for name in ("confidence", "right", "ece")]
            rows.append([model, family, f"{found['points']:,}", *shares])
    header = ["", "family", "points", "mean confidence", "share correct", "ECE"]
    n_sets, n_bins = data["sets_of_each_family"], data["n_bins"]
    where = f"`{data['command']}`: {n_sets} sets of each family, {n_bins} bins, noise not scored"
    return grid(header, rows) + f"\n\n{where}; {data['date'][:10]}.\n"


def prior() -> str:
    """What methods that are told k recover of each family, and the ceiling."""
    data = results("prior")
    names = ("k-means", "mixture", "spectral", "linkage", "best", "ceiling")
    rows = [
        [family, *(f"{found[name]:.3f}" for name in names)]
        for family, found in data["families"].items()
    ]
    return grid(["", *names], rows) + f"\n\n{where_run(data)}\n"


def best_first(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The methods by their mean ARI over all sets, the highest first."""
    return sorted(data["methods"], key=lambda method: -mean(method["all"], "ari"))


def called(method: dict[str, Any]) -> str:
    """The name of a method, with a mark where it is told the true k."""
    return str(method["name"]) + (" †" if method["told_k"] else "")
