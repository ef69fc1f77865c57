import numpy as np

from coterie.judge.candidates import Candidate, distinct


def test_equal_partitions_are_one_candidate():
    labels = np.array([1, 1, 0, 0, 0], dtype=np.int16)
    found = distinct(
        [
            Candidate("net", "all", 2, 0, labels),
            Candidate("kmeans", "all", 2, -1, 1 - labels),
            Candidate("graph", "all", 2, -1, labels * 0),
            Candidate("diag", "rank", 2, 1, labels),
        ]
    )
    assert [each.name for each in found] == ["net/all", "graph/all:k1"]
    assert found[0].labels.tolist() == [0, 0, 1, 1, 1]
