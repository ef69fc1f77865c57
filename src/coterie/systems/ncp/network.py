"""The four perceptrons of NCP (Pakman et al. 2019; sizes of AMCP's appendix, C.1).

A point x becomes h(x) while it has a seat and u(x) while it has none. A cluster is H, the sum of
its points' h, and becomes g(H). All clusters together are G, the sum of their g, and all points
without a seat are U, the sum of their u. f(G, U) scores such a state.
"""

from torch import Tensor, nn
from torch.nn.functional import relu

from coterie.layers.mlp import mlp
from coterie.systems.ncp.config import NCPConfig


class SeatingNetwork(nn.Module):
    """h, u, g and f."""

    def __init__(self, config: NCPConfig) -> None:
        super().__init__()
        hidden = [config.width] * config.layers
        point, cluster = config.point_width, config.cluster_width
        self.cluster_width, self.most_waiting = cluster, config.most_waiting
        self.seated_point = mlp([config.columns, *hidden, point], "relu")  # h
        self.waiting_point = mlp([config.columns, *hidden, point], "relu")  # u
        self.cluster = mlp([point, *hidden, cluster], "relu")  # g
        # f reads (G, U): its first layer in two parts, since candidates of one point share U.
        first = hidden[0] if hidden else 1
        self.read_clusters = nn.Linear(cluster, first)
        self.read_waiting = nn.Linear(point, first, bias=False)
        self.rest_of_score = mlp([*hidden, 1], "relu") if hidden else nn.Identity()

    def waiting(self, idle: Tensor, n_points: Tensor) -> Tensor:
        """U after each of N points has left, in their order: u (B, N, P) -> (B, N, P).

        n_points: (B,), how many are valid; u of the others, which come last, is zero.
        In sets of more points than in training, U is scaled down to as many. Our departure: the
        first clusters are otherwise compared with a U that no training set had, and too many begin
        (`python benchmarks ncp` measures both).
        """
        left = idle.flip(1).cumsum(1).flip(1) - idle
        share = self.most_waiting / n_points.clamp_min(self.most_waiting)
        return left * share.to(left)[:, None, None]

    def scores(self, sums: Tensor, joining: Tensor, clusters: Tensor, waiting: Tensor) -> Tensor:
        """f(G_k, U) for a point that joins each of C clusters.

        sums: H of the clusters, (..., C, P), zero for one that would be new; joining: h of the
        point, (..., P); clusters: g(H) of the clusters, (..., C, Q), zero for one that would be
        new; waiting: U without the point, (..., P). Returns (..., C).
        """
        return self.score_joined(self.join(sums, joining), clusters, waiting)

    def join(self, sums: Tensor, joining: Tensor) -> Tensor:
        """g(H + h) of each cluster with the point: (..., C, P), (..., P) -> (..., C, Q)."""
        joined: Tensor = self.cluster(sums + joining[..., None, :])
        return joined

    def score_joined(self, joined: Tensor, clusters: Tensor, waiting: Tensor) -> Tensor:
        """The scores (..., C), given g of each cluster with the point and without it."""
        # G_k, with the point in cluster k: the sum over all clusters, only k's part replaced.
        totals = clusters.sum(-2, keepdim=True) - clusters + joined
        read = self.read_clusters(totals) + self.read_waiting(waiting)[..., None, :]
        scores: Tensor = self.rest_of_score(relu(read))
        return scores[..., 0]
