"""The peers as scikit-learn programs: what a visitor takes home, free of this package.

Each turns an array X (n, d) into `labels` (n,). A test runs them against `peer_search`.
"""

from coterie.playground.peer_search import Search

_MIXTURE_BIC = """\
from sklearn.mixture import GaussianMixture

k_values = range({low}, min({high}, len(X) - 1) + 1)
mixtures = [GaussianMixture(k, covariance_type="diag", random_state=0).fit(X) for k in k_values]
labels = min(mixtures, key=lambda mixture: mixture.bic(X)).predict(X)
"""

_DIRICHLET_PROCESS = """\
from sklearn.mixture import BayesianGaussianMixture

mixture = BayesianGaussianMixture(
    n_components=min({high}, len(X) - 1),
    covariance_type="diag",
    weight_concentration_prior_type="dirichlet_process",
    max_iter=500,
    random_state=0,
)
labels = mixture.fit_predict(X)
"""

_HDBSCAN = """\
from scipy.spatial import KDTree
from sklearn.cluster import HDBSCAN

labels = HDBSCAN(copy=True).fit_predict(X)
noise = labels < 0
if noise.all():
    labels[:] = 0
elif noise.any():  # give noise the cluster of the nearest point that has one
    _, nearest = KDTree(X[~noise]).query(X[noise])
    labels[noise] = labels[~noise][nearest]
"""

_HDBSCAN_WITH_NOISE = """\
from sklearn.cluster import HDBSCAN

labels = HDBSCAN(copy=True).fit_predict(X)
"""

_KMEANS_SILHOUETTE = """\
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

k_values = range({low}, min({high}, len(X) - 1) + 1)
sample = np.random.default_rng(0).choice(len(X), min(len(X), 1000), replace=False)


def score(labels):
    found = labels[sample]
    return silhouette_score(X[sample], found) if len(set(found)) > 1 else -1.0


labels = max((KMeans(k, n_init=10, random_state=0).fit_predict(X) for k in k_values), key=score)
"""

_PROGRAMS = {
    "GaussianMixture + BIC": _MIXTURE_BIC,
    "BayesianGaussianMixture": _DIRICHLET_PROCESS,
    "HDBSCAN": _HDBSCAN,
    "k-means + silhouette": _KMEANS_SILHOUETTE,
}


def peer_code(title: str, search: Search) -> str:
    """The program of a peer that searches within the bounds, where it searches."""
    if title == "HDBSCAN" and search.noise:
        return _HDBSCAN_WITH_NOISE
    return _PROGRAMS[title].format(low=search.low, high=search.high)
