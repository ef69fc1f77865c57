"""How a system is run on one set."""

from dataclasses import dataclass, field

from coterie.inference.constraints import Constraints
from coterie.inference.endings import NETWORK_ENDING, Ending


@dataclass(frozen=True)
class InferenceConfig:
    """How to run a system, and what to do with the clusters found.

    ending: how the clusters become a rule; second_look: whether the network may divide each cluster
    when it sees it alone; n_samples: how many draws a point-wise system makes, and n_restarts: how
    often another system that draws at random is run, of which the most probable counts;
    context_size: on how many points clusters are found; n_proposal_points: how many of these the
    network sees where it only proposes, None for all; whole_trace: whether the trace tells of the
    other points too; temperature: of the rule's probabilities; constraints: on the clusters,
    whatever finds them.
    """

    ending: Ending = NETWORK_ENDING
    second_look: bool = False
    n_samples: int = 1
    context_size: int = 10_000
    n_proposal_points: int | None = None
    whole_trace: bool = False
    n_restarts: int = 1
    temperature: float = 1.0
    chunk_size: int = 65_536
    device: str = "cpu"
    constraints: Constraints = field(default_factory=Constraints)
