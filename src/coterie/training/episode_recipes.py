"""The recipes of clusterers that learn from episodes: sets of images of many classes."""

from dataclasses import replace

from coterie.data.augmentation import DigitViews
from coterie.data.image_episodes import ImageEpisodes
from coterie.training.recipe import Recipe, TrainingConfig

# Choices that are made by scores are made on these, by a network that has not seen them.
HELD_OUT_ALPHABETS = (
    "Alphabet_of_the_Magi",
    "Cyrillic",
    "Grantha",
    "Japanese_(katakana)",
    "Latin",
)

# Strokes are not thickened: in 28 pixels that closes the loops of small letters.
DRAWINGS = DigitViews(rotation=15, shear=0.2, scale=0.15, shift=0.08, warp=0.04, thick=0.0)

DAC_OMNIGLOT = Recipe(
    name="dac-omniglot",
    system="dac",
    settings={
        "filtering": "anchored",
        "density": None,
        "image": (1, 28, 28),
        "convolutions": (64, 128, 256),
        "columns": 256,
        "width": 256,
        "heads": 8,
        "slots": 64,
        "encoder_blocks": 3,
        "decoder_blocks": 1,
        "read_width": 64,
        "comparison": True,
        "refinements": 2,
        "encode_once": True,
        "questions": 16,
        "anchor": "random",
        "restarts": 8,
        "neighbour_weight": 0.5,
        "mix_columns": True,
        "k_max": 48,
        "least_members": 10,
    },
    prior=ImageEpisodes(
        "omniglot-background",
        n_max=800,
        k_max=48,
        k_min=8,
        images_per_class=20,
        hidden=0.3,
        one_group=0.5,
        symmetries=8,
        views=DRAWINGS,
    ),
    training=TrainingConfig(
        steps=12_000,
        sets_per_step=5,
        learning_rate=1e-3,
        warmup=300,
        betas=(0.9, 0.98),
        weight_decay=0.05,
        precision="bf16-mixed",
        compile=True,
        capture=True,
    ),
    trained_on="sets of 8 to 48 characters of Omniglot's 30 background alphabets, 28 x 28 pixels",
)

# The same without five alphabets, on which settings of inference are chosen.
DAC_OMNIGLOT_STUDY = replace(
    DAC_OMNIGLOT,
    name="dac-omniglot-study",
    prior=replace(DAC_OMNIGLOT.prior, left_out=HELD_OUT_ALPHABETS),
    trained_on=DAC_OMNIGLOT.trained_on.replace("30", "25 of 30"),
)
