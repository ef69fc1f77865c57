"""Train a clusterer of images (AMCP, appendix C) in pieces of a given number of minutes.

    COTERIE_DATA=... python benchmarks/train_images.py amcp-mnist --out runs/amcp-mnist
    COTERIE_DATA=... python benchmarks/train_images.py dac-af-mnist --out runs/dac --minutes 8
    COTERIE_DATA=... python benchmarks/train_images.py amcp-cifar10 --encoder runs/moco.safetensors

The same command again goes on from the checkpoint in --out; SIGTERM ends it with one. Along the way
scores are written on held-out images of seen classes and on unseen classes: the curves of the
paper's Fig. 1. Nothing is chosen by the latter. At the end the weights are written in half
precision to OUT/shipped.safetensors.
"""

import argparse
from dataclasses import replace

from bench.pieces import SCORES, add_options, changed, say, train_in_pieces
from coterie.data.pools import open_pool
from coterie.training.image_set_recipes import IMAGE_SET_RECIPES, with_encoder
from coterie.training.set_scores import SetScores

# Pools on which scores are measured along the way: seen classes, unseen ones.
SCORED = {
    "mnist": {"seen": "mnist-even-test", "unseen": "mnist-odd"},
    "cifar10": {"seen": "cifar10-even-test", "unseen": "cifar10-odd"},
    "tinyimagenet": {"seen": "tinyimagenet-first", "unseen": "tinyimagenet-last"},
}


def main() -> None:
    """Train, score and ship."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", choices=sorted(IMAGE_SET_RECIPES))
    parser.add_argument("--encoder", help="weights of MoCo or MiCE")
    parser.add_argument("--name", help="of the results; default: the recipe's")
    parser.add_argument("--scored-images", type=int, default=500, metavar="N", help="in a set")
    add_options(parser)
    arguments = parser.parse_args()
    recipe = IMAGE_SET_RECIPES[arguments.recipe]()
    if arguments.encoder:
        recipe = with_encoder(recipe, arguments.encoder)
    recipe = changed(replace(recipe, name=arguments.name or recipe.name), arguments)
    data = recipe.prior.pool.partition("-")[0]
    scores = SetScores(
        arguments.out / SCORES,
        {kind: open_pool(name) for kind, name in SCORED[data].items()},
        every=arguments.score_every,
        n_images=arguments.scored_images,
        k=len(open_pool(SCORED[data]["unseen"]).counts),
        say=say,
    )
    train_in_pieces(recipe, arguments, [scores])


if __name__ == "__main__":
    main()
