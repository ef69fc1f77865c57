"""Put the tables of benchmarks/results into the README, the docs and the model cards.

Between the marks `<!-- results NAME -->` and `<!-- end -->` stands what this script wrote; a test
holds that it is what the results say. Run it with `make figures`.
"""

import re
from collections.abc import Callable
from pathlib import Path

from pages.before_after import before_after
from pages.chigac import chigac
from pages.collections import collection_curve, collection_speed
from pages.doubts import doubts
from pages.honesty import honesty
from pages.images import image_classes_seen, image_sets, image_studies
from pages.machines import plan, runs, second_core, stages
from pages.mixtures import everybody, ours, peers, printed, times
from pages.omniglot import omniglot
from pages.parts import parts
from pages.reliability import reliability
from pages.sets import calibration, families, prior, tables
from pages.speed import alone, batched, growth
from pages.stability import stability
from pages.studies import ablations, studies, validation
from pages.summary import summary, topics

ROOT = Path(__file__).parent.parent
MICE = ROOT / "src/coterie/weights/mice-mnist.md"
PAGES = (
    ROOT / "README.md",
    *(
        ROOT / "docs" / name
        for name in (
            "act_st.md",
            "amcp.md",
            "chigac.md",
            "dac.md",
            "images.md",
            "mice.md",
            "ncp.md",
            "tables.md",
            "train.md",
            "which.md",
        )
    ),
    *(
        ROOT / "docs" / name
        for name in ("confidence.md", "more-than-one-machine.md", "reliability.md")
    ),
    ROOT / "docs/recipes/embeddings.md",
    # The scores of MiCE along its training are in its log.
    *sorted(set((ROOT / "src/coterie/weights").glob("*.md")) - {MICE}),
)
MARKED = re.compile(r"(<!-- results (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
TOLD_K = re.compile(r",? told k\b")
TABLES: dict[str, Callable[..., str]] = {
    "peers": peers,
    "ours": ours,
    "everybody": everybody,
    "printed": printed,
    "times": times,
    "studies": studies,
    "tables": tables,
    "families": families,
    "calibration": calibration,
    "prior": prior,
    "doubts": doubts,
    "honesty": honesty,
    "stability": stability,
    "parts": parts,
    "reliability": reliability,
    "before_after": before_after,
    "ablations": ablations,
    "alone": alone,
    "batched": batched,
    "growth": growth,
    "validation": validation,
    "summary": summary,
    "topics": topics,
    "collection_curve": collection_curve,
    "collection_speed": collection_speed,
    "omniglot": omniglot,
    "chigac": chigac,
    "image_sets": image_sets,
    "image_classes_seen": image_classes_seen,
    "image_studies": image_studies,
    "machines": runs,
    "stages": stages,
    "second_core": second_core,
    "plan": plan,
}


def in_words(block: str) -> str:
    """A rendered block, with the names of methods in the results replaced by those of the pages."""
    block = block.replace("is told the true k", "is given the true k")
    rows = (named(line) if line[:1] == "|" else line for line in block.split("\n"))
    return "\n".join(rows)


def named(row: str) -> str:
    """A row of a table: methods that are given k, and networks without consolidation."""
    return TOLD_K.sub(", given k", row).replace("as the network says", "network only")


def rendered(page: str) -> str:
    """The page with every marked part written anew."""

    def write(found: re.Match[str]) -> str:
        table, _, argument = found[2].partition(":")
        block = TABLES[table](*filter(None, [argument]))
        return found[1] + in_words(block) + found[3]

    return MARKED.sub(write, page)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(rendered(page.read_text()))
