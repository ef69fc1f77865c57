from types import SimpleNamespace

import numpy as np
import pytest
import torch

from coterie.encoders.conv import ConvEncoder
from coterie.frames.images import CHUNK, EncodedImages

IMAGES = np.random.default_rng(0).random((17, 144), dtype=np.float32)
KINDS = np.random.default_rng(1).integers(17, size=1_000)


@pytest.fixture
def frame():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        encoder = ConvEncoder((1, 12, 12), (4, 8), 6).eval()
    return EncodedImages(SimpleNamespace(item_encoder=encoder), (1, 12, 12))


def test_an_image_that_is_there_many_times_is_encoded_once(frame, monkeypatch):
    chunks, forward = [], ConvEncoder.forward
    monkeypatch.setattr(
        ConvEncoder,
        "forward",
        lambda self, images: chunks.append(len(images)) or forward(self, images),
    )
    vectors = frame(IMAGES[KINDS])
    assert chunks == [CHUNK]
    assert np.array_equal(vectors, frame(IMAGES)[KINDS])


def test_a_vector_is_the_same_to_the_last_bit_whatever_is_beside_its_image(frame):
    many = np.random.default_rng(2).random((600, 144), dtype=np.float32)
    vectors = frame(many)
    assert len(vectors) == 600
    for rows in (slice(0, 1), slice(300, 600), np.arange(599, -1, -1), np.arange(600).repeat(2)):
        assert np.array_equal(frame(many[rows]), vectors[rows])


def test_inverted_images_are_read_the_other_way_round(frame):
    inverted = EncodedImages(frame.system, frame.image, inverted=True)
    assert np.array_equal(inverted(IMAGES[KINDS]), frame(1 - IMAGES)[KINDS])


def test_no_images_have_no_vectors(frame):
    assert frame(IMAGES[:0]).shape == (0, 6)
