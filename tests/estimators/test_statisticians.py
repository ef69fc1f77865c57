"""The shipped mixture of neural statisticians, on images that need no data set."""

import numpy as np
import pytest

import coterie

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def images():
    """Rings and strokes with a little noise: (60, 784), the rings first."""
    y, x = np.mgrid[:28, :28] - 13.5
    ring = np.abs(np.hypot(x, 1.0 * y) - 8) < 1.8
    stroke = (np.abs(x) < 1.8) & (np.abs(y) < 10)
    draw = np.random.default_rng(0)
    drawn = []
    for shape in (ring, stroke):
        for _ in range(30):
            moved = np.roll(shape, draw.integers(-1, 2, size=2), (0, 1))
            drawn.append(moved ^ (draw.random((28, 28)) < 0.01))
    return np.array(drawn, dtype=np.float32).reshape(60, 784)


@pytest.fixture(scope="module")
def fitted(images):
    return coterie.DAC("dac-emnist", random_state=0).fit(images)


def test_shapes_are_told_apart(fitted):
    assert not set(fitted.labels_[:30]) & set(fitted.labels_[30:])


def test_images_have_a_likelihood_and_strange_ones_a_low_one(fitted, images):
    known = fitted.score_samples(images)
    assert np.isfinite(known).all()
    assert fitted.score_samples(1 - images).max() < np.median(known)


def test_generated_images_are_binary_and_like_those_of_their_cluster(fitted, images):
    cluster = int(fitted.labels_[0])
    drawn, labels = fitted.sample(40, cluster=cluster, random_state=0)
    assert drawn.shape == (40, 784)
    assert set(np.unique(drawn)) <= {0.0, 1.0}
    assert set(labels) == {cluster}
    mean = drawn.mean(0)
    own, other = (np.linalg.norm(mean - part.mean(0)) for part in (images[:30], images[30:]))
    assert own < other


def test_anything_but_pixels_is_refused(images):
    model = coterie.DAC("dac-emnist")
    with pytest.raises(ValueError, match=r"read images of 784 pixels.* X has 100 columns"):
        model.fit(images[:, :100])
    with pytest.raises(ValueError, match=r"between 0 .* X has values from 0 to 255"):
        model.fit(255 * images)


def test_images_are_read_as_their_rows_are_and_other_sizes_are_scaled(fitted, images):
    again = coterie.DAC("dac-emnist", random_state=0).fit(images.reshape(60, 28, 28))
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    small = images.reshape(60, 28, 28)[:, ::2, ::2]
    with pytest.warns(UserWarning, match="14 x 14 pixels are scaled to 28 x 28"):
        coterie.DAC("dac-emnist").fit(small)


def test_a_saved_model_answers_the_same(fitted, images, tmp_path):
    again = coterie.load(fitted.save(tmp_path / "m.coterie"))
    np.testing.assert_array_equal(again.predict_proba(images), fitted.predict_proba(images))
