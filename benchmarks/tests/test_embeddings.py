import numpy as np

import embeddings


def test_topics_are_unequal_and_rows_have_norm_one():
    given = embeddings.draw(0)
    sizes = np.bincount(given.topic)
    assert given.rows.shape == (len(given.topic), 384)
    assert len(sizes) == 40
    assert sizes.max() / sizes.min() > 15
    np.testing.assert_allclose(np.linalg.norm(given.rows, axis=1), 1)


def test_the_seed_determines_a_set():
    one, again, other = (embeddings.draw(seed) for seed in (1, 1, 2))
    assert (one.rows == again.rows).all()
    assert not (one.topic == other.topic).all()


def test_forty_topics_need_more_than_sixteen_axes():
    """What the page says: the small topics are lost before any method sees them."""
    given = embeddings.draw(0)
    few = embeddings.answer("HDBSCAN on 16 principal axes", given)
    many = embeddings.answer("HDBSCAN on 50 principal axes", given)
    assert few["k"] < 30
    assert (many["k"], round(many["ari"], 2)) == (40, 1.0)
