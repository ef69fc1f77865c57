"""Density heads: the part of a network that turns the vector of a cluster into its density."""

from torch import Generator, Tensor, nn

from coterie.densities.gaussian import DiagonalGaussian
from coterie.densities.protocol import Density

LOG_SCALES = (-6.0, 4.0)  # of a Gaussian, which keep its density bounded


class DensityHead(nn.Module):
    """theta = rFF(H_theta), and with it the density p(x; theta) (DAC, eq. 5-8).

    A subclass has `density`. `log_prob` is what the training loss reads: a head that only knows a
    lower bound of its density estimates that one, with random numbers from the generator.
    """

    @property
    def regions(self) -> tuple[tuple[nn.Module, str], ...]:
        """The methods worth compiling where `log_prob` draws random numbers, which cannot be."""
        return ()

    def encode(self, points: Tensor) -> Tensor:
        """What the network reads of each point: (..., D) -> (..., C)."""
        return points

    def density(self, cluster: Tensor) -> Density:
        """The density of the cluster of each of B sets, from its vector (B, C)."""
        raise NotImplementedError

    def log_prob(
        self, cluster: Tensor, points: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Log-density, or a lower bound of it, in training: (B, C), (B, N, D) -> (B, N)."""
        return self.density(cluster).log_prob(points)


class GaussianHead(DensityHead, nn.Linear):
    """A linear map to the mean and the log scale of a diagonal Gaussian over D columns."""

    def __init__(self, width: int, columns: int) -> None:
        nn.Linear.__init__(self, width, 2 * columns)

    def density(self, cluster: Tensor) -> DiagonalGaussian:
        mean, log_scale = self(cluster).chunk(2, -1)
        return DiagonalGaussian(mean, log_scale.clamp(*LOG_SCALES))
