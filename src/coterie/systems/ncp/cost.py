"""About how long seating takes, to refuse in time what would take too long.

The numbers of multiplications are exact, the speeds those of one core and of a recent GPU. They are
good to a factor of about three, and on a busy machine to none.
"""

from typing import NamedTuple

from torch import nn

from coterie.systems.ncp.network import SeatingNetwork

CLUSTERS = 8  # that a point is compared with, on average


class Speed(NamedTuple):
    """Multiplications a second in float32 and float64, and the seconds that a step takes anyway."""

    single: float
    double: float
    step: float


CPU = Speed(3e10, 1e10, 4e-4)
GPU = Speed(3e13, 5e12, 5e-4)


def seconds_to_seat(network: SeatingNetwork, n_points: int, n_samples: int) -> float:
    """For n points one after another, in n_samples draws side by side."""
    speed = _speed(network)
    return n_points * (speed.step + n_samples * CLUSTERS * _products(network) / speed.single)


def seconds_to_label(network: SeatingNetwork, n_points: int) -> float:
    """For n points at once, in float64, as the rule of a fit labels them."""
    return n_points * CLUSTERS * _products(network) / _speed(network).double


def _products(network: SeatingNetwork) -> int:
    """How many multiplications the score of one cluster for one point takes."""
    parts = (network.cluster, network.read_clusters, network.rest_of_score)
    layers = (layer for part in parts for layer in part.modules())
    return sum(layer.weight.numel() for layer in layers if isinstance(layer, nn.Linear))


def _speed(network: SeatingNetwork) -> Speed:
    return GPU if next(network.parameters()).is_cuda else CPU
