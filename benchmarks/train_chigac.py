"""Train CHiGac in pieces of a given number of minutes.

    python benchmarks/train_chigac.py chigac-mog2d --out runs/chigac-mog2d
    COTERIE_DATA=... python benchmarks/train_chigac.py chigac-mnist --out runs/chigac-mnist \\
        --minutes 8 --set inference='"eai"'
    python benchmarks/train_chigac.py chigac-mog2d --out runs/longer --device cpu \\
        --start-from runs/chigac-mog2d/weights.safetensors

The same command again goes on from the checkpoint in --out; SIGTERM ends it with one. Along the way
OUT/scores.jsonl receives the ARI and the error of k on fresh sets of the recipe. At the end the
weights are written in half precision to OUT/shipped.safetensors.
"""

import argparse
from dataclasses import replace

from bench.pieces import SCORES, add_options, changed, say, train_in_pieces
from coterie.training.callbacks import Validation
from coterie.training.presets import PRESETS, preset


def main() -> None:
    """Train, score and ship."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "recipe", choices=[name for name, each in PRESETS.items() if each.system == "chigac"]
    )
    parser.add_argument("--name", help="of the results; default: the recipe's")
    parser.add_argument("--start-from", default="", metavar="FILE", help="weights to go on from")
    add_options(parser)
    arguments = parser.parse_args()
    recipe = preset(arguments.recipe)
    recipe = replace(recipe, name=arguments.name or recipe.name, start_from=arguments.start_from)
    recipe = changed(recipe, arguments)
    scores = Validation(
        arguments.out / SCORES, recipe.prior, every=arguments.score_every, n_sets=16, say=say
    )
    train_in_pieces(recipe, arguments, [scores])


if __name__ == "__main__":
    main()
