import numpy as np
import pandas as pd
import pytest

from coterie.cli.category_note import category_notes
from coterie.frames.table_encoding import fit_encoding

COUNTRY = np.tile(["DE", "FR", "US"], 40)
SPENT = np.repeat([10.0, 90.0], 60) + np.arange(120) / 60


def notes(labels, **columns):
    frame = pd.DataFrame({"customer_id": range(120), "country": COUNTRY, **columns})
    encoding = fit_encoding(frame)
    told = category_notes(encoding, encoding(frame).table, labels)
    assert category_notes(encoding.without_dropped(), encoding(frame).table, labels) == told
    return told


def test_clusters_of_single_categories_are_said():
    labels = np.unique(COUNTRY, return_inverse=True)[1] + 3 * (SPENT > 50)
    (note,) = notes(labels, spent=SPENT)
    assert note.startswith("most clusters have a single category of 'country'")
    assert note.endswith("--exclude country")


@pytest.mark.parametrize(
    "labels",
    [
        (SPENT > 50).astype(int),
        np.unique(COUNTRY, return_inverse=True)[1],  # a category is a cluster
        np.arange(120) // 24,
    ],
    ids=["numbers", "categories", "neither"],
)
def test_other_clusters_are_not(labels):
    assert notes(labels, spent=SPENT) == ()


def test_without_numbers_there_is_nothing_else_to_cluster_by():
    labels = np.unique(COUNTRY, return_inverse=True)[1] + 3 * (SPENT > 50)
    assert notes(labels) == ()
