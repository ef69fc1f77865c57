import numpy as np
import pandas as pd
import pytest
import torch

from coterie.estimators.image_input import as_images, brightness_note, refuse_other_shape

GREY = np.random.default_rng(0).integers(0, 256, (5, 8, 6), dtype=np.uint8)
COLOUR = np.random.default_rng(1).integers(0, 256, (5, 8, 6, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (GREY, GREY[:, None]),
        (GREY[..., None], GREY[:, None]),
        (GREY[:, None], GREY[:, None]),
        (COLOUR, COLOUR.transpose(0, 3, 1, 2)),
        (COLOUR.transpose(0, 3, 1, 2), COLOUR.transpose(0, 3, 1, 2)),
        (GREY.astype(np.int64), GREY[:, None]),
        (GREY / 255, GREY[:, None]),
        (GREY.astype(np.float32) / 255, GREY[:, None]),
        (GREY > 100, (GREY > 100)[:, None] * 255),
        (list(GREY), GREY[:, None]),
        (torch.from_numpy(GREY / 255).requires_grad_(), GREY[:, None]),
        (torch.from_numpy(GREY > 100).bfloat16(), (GREY > 100)[:, None] * 255),
    ],
)
def test_every_way_to_give_images_gives_the_same_pixels(given, expected):
    found = as_images(given)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, expected)


def spoilt(value):
    images = GREY / 255
    images[3, 2, 1] = value
    return images


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (spoilt(np.nan), "pixel nan in image 3"),
        (spoilt(16.0), r"pixel 16.0 in image 3: floats must lie in \[0, 1\]"),
        (spoilt(-0.1), "pixel -0.1 in image 3"),
        (GREY.astype(int) + 200, "whole numbers must lie in 0 to 255"),
        (GREY.reshape(5, -1), "for a table of vectors use AMCP"),
        (pd.DataFrame(GREY.reshape(5, -1)), "X is a table"),
        (GREY[0, 0], "got shape"),
        (GREY[:0], "no images"),
        (np.zeros((5, 8, 6, 4)), "one or three channels"),
        (np.zeros((5, 3, 8, 3)), "could both be channels"),
        (np.zeros((5, 3, 2)), "too small"),
        (np.array([["a", "b"]]), "dtype"),
        ([GREY[0], GREY[1, :4]], "one size"),
        (np.ma.masked_array(GREY, GREY > 3), "masked"),
        (None, "dtype object"),
    ],
)
def test_what_is_no_image_is_refused_with_the_reason(given, message):
    with pytest.raises(ValueError, match=message):
        as_images(given)


def test_another_size_than_in_training_is_refused():
    images = as_images(GREY)
    refuse_other_shape(images, (1, 8, 6))
    refuse_other_shape(images, (1, -1, -1))
    with pytest.raises(ValueError, match="8 x 6 pixels, the network was trained on 28 x 28"):
        refuse_other_shape(images, (1, 28, 28))
    with pytest.raises(ValueError, match="one channel, the network was trained on 3 channels"):
        refuse_other_shape(images, (3, 8, 6))


def test_swapped_light_and_dark_are_noticed():
    dark = np.zeros((2, 1, 8, 8), dtype=np.uint8)
    assert brightness_note(dark, 0.13, 0.31) is None
    assert "dark and light" in brightness_note(255 - dark, 0.13, 0.31)
