"""Train DAC with anchored filtering on Omniglot, in pieces of a given number of minutes.

    COTERIE_DATA=... python benchmarks/train_omniglot.py --out runs/dac-omniglot
    COTERIE_DATA=... python benchmarks/train_omniglot.py --study --out runs/study --minutes 8

The same command again goes on from the checkpoint in --out; SIGTERM ends it with one. --study
leaves out five background alphabets and prints the scores on them; otherwise the scores along the
way are on alphabets that the network is trained on. At the end the weights are written in half
precision to OUT/shipped.safetensors. No drawing of an evaluation alphabet is ever read.
"""

import argparse

from bench.pieces import SCORES, add_options, changed, say, train_in_pieces
from coterie.data.pools import open_pool
from coterie.training.episode_recipes import (
    DAC_OMNIGLOT,
    DAC_OMNIGLOT_STUDY,
    HELD_OUT_ALPHABETS,
)
from coterie.training.group_scores import GroupScores


def main() -> None:
    """Train, score and ship."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", action="store_true")
    add_options(parser)
    arguments = parser.parse_args()
    recipe = changed(DAC_OMNIGLOT_STUDY if arguments.study else DAC_OMNIGLOT, arguments)
    # Those that the network has not seen in a study; they are part of the training otherwise.
    alphabets = open_pool(recipe.prior.pool).only(HELD_OUT_ALPHABETS)
    scores = GroupScores(arguments.out / SCORES, alphabets, every=arguments.score_every, say=say)
    train_in_pieces(recipe, arguments, [scores])


if __name__ == "__main__":
    main()
