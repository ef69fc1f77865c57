"""CHiGac: mixtures (Table 1), other collections (Table 2), strategies (Tables 3 and 4)."""

from collections.abc import Callable
from typing import Any

from pages.cells import grid
from pages.results import results

COLLECTIONS = {
    "mnist": ("MNIST, test images", "mnist"),
    "even": ("MNIST, even digits, test images", ""),
    "unseen": ("MNIST, odd digits, trained on even ones", ""),
    "har": ("HAR, other persons", "har"),
    "reuters": ("Reuters R8, other documents", "reuters"),
}
PAPER = {"mnist": "0.980", "har": "0.908", "reuters": "0.829"}  # Table 2
STRATEGIES = {"ai": "AI", "semi-ai": "Semi-AI", "iai": "IAI", "svi-ai": "SVI-AI", "eai": "EAI"}
PAPER_STRATEGIES = {"ai": 0.9769, "semi-ai": 0.9773, "iai": 0.9773, "svi-ai": 0.9767, "eai": 0.9796}


def chigac(part: str = "mixtures") -> str:
    """One of the tables, and the command it is from."""
    return PARTS[part]()


def mixtures() -> str:
    """Every method on sets of mixtures; the printed ACC where there is one."""
    data = results("chigac")
    rows = []
    for setting, found in data["settings"].items():
        printed = next((p for name, p in data["printed"].items() if name in setting.split()), {})
        for method, row in found.items():
            paper = printed.get("CHiGac") if method.startswith("chigac") else None
            rows.append([setting, method, *_scores(row), _plain(row, "dbi"), _seconds(row)])
            rows[-1].append("" if paper is None else f"{paper:.3f}")
    header = ["sets", "method", "ACC", "ARI", "k-MAE", "DBI", "seconds", "ACC, printed"]
    return f"{grid(header, rows)}\n\n{_where(data, data['n_sets'])}\n"


def real() -> str:
    """Sets of every collection, CHiGac beside k-means that is told k."""
    data = results("chigac_real")
    rows = []
    for name, (title, paper) in COLLECTIONS.items():
        for setting, found in data.get(name, {}).get("settings", {}).items():
            for method, row in found.items():
                printed = PAPER.get(paper, "") if method == "CHiGac" else ""
                rows.append([title, setting, method, *_scores(row), _seconds(row), printed])
    header = ["items", "sets", "method", "ACC", "ARI", "k-MAE", "seconds", "ACC, printed"]
    commands = {kept["command"]: kept for kept in data.values()}
    wheres = [_where(kept, kept["n_sets"]) for kept in commands.values()]
    return f"{grid(header, rows)}\n\n" + "\n".join(wheres) + "\n"


def strategies() -> str:
    """The strategies by their bounds and ACC."""
    data = results("chigac_strategies")
    rows = [
        [
            called,
            *(
                f"{data['strategies'][name][key]:.2f}"
                for key in ("log_likelihood", "bound", "elbo", "reconstruction")
            ),
            f"{data['strategies'][name]['acc']:.3f}",
            f"{PAPER_STRATEGIES[name]:.4f}",
        ]
        for name, called in STRATEGIES.items()
    ]
    header = ["", "log-likelihood", "own bound", "ELBO", "reconstruction", "ACC", "ACC, printed"]
    machine = data["machine"]
    where = f"`{data['command']}`; {machine.get('gpu', machine['cpu'])}, {data['date'][:10]}."
    return f"{grid(header, rows)}\n\n{where}\n"


def bounds() -> str:
    """The bounds of the strategies on one network, with their errors over the draws."""
    data = results("chigac_bounds")
    names = [*(name for name in STRATEGIES if name != "iai"), "log_likelihood"]
    rows = [
        [network, *(f"{found[n]['mean']:.2f} ± {found[n]['standard_error']:.2f}" for n in names)]
        for network, found in data["networks"].items()
    ]
    header = ["", *(STRATEGIES.get(name, "log-likelihood") for name in names)]
    return f"{grid(header, rows)}\n\n{_where(data, data['n_sets'])}\n"


def _scores(row: dict[str, Any]) -> list[str]:
    error = row.get("acc_standard_error")
    acc = f"{row['acc']:.3f}" + ("" if error is None else f" ± {error:.3f}")
    return [acc, f"{row['ari']:.3f}", f"{row['k_mae']:.2f}"]


def _plain(row: dict[str, Any], name: str) -> str:
    return f"{row[name]:.3f}"


def _seconds(row: dict[str, Any]) -> str:
    return f"{row['seconds']:.3f}" if "seconds" in row else ""


def _where(data: dict[str, Any], n_sets: int) -> str:
    machine = data["machine"]
    return f"`{data['command']}`: {n_sets} sets each; {machine['cpu']}, {data['date'][:10]}."


PARTS: dict[str, Callable[[], str]] = {
    "mixtures": mixtures,
    "real": real,
    "strategies": strategies,
    "bounds": bounds,
}
