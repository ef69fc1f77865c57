import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score as ari


def scores(drawn, k, method):
    return np.array(
        [
            ari(labels[labels >= 0], method(k).fit_predict(points[labels >= 0, :2]))
            for points, labels in zip(*drawn, strict=True)
        ]
    )


def test_ribbons_wind_around_one_another(draw):
    drawn = draw("ribbons", k=3, n=600, n_sets=60)
    compact = scores(drawn, 3, lambda k: KMeans(k, n_init=2, random_state=0))
    assert np.median(compact) < 0.5


def test_who_goes_from_neighbour_to_neighbour_follows_a_ribbon(draw):
    drawn = draw("ribbons", k=3, n=600, n_sets=60)
    chained = scores(drawn, 3, lambda k: AgglomerativeClustering(k, linkage="single"))
    assert np.mean(chained > 0.95) > 0.5


def test_some_ribbons_are_a_part_of_their_lane(draw):
    points, labels = draw("ribbons", k=4, n=800, n_sets=100)
    spread = np.array(
        [
            [one[label == j, :2].std() for j in range(4)]
            for one, label in zip(points, labels, strict=True)
        ]
    )
    unequal = spread.max(1) / spread.min(1)
    assert 0.2 < np.mean(unequal > 1.5) < 0.8
