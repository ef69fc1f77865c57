"""Endings: how the clusters that a network found in a context become a rule for all points.

- `network`: the network's own answer, read again in float64;
- `framed`: the same for networks that read every set in a frame of its own, carried from the
  context to all other points by their nearest neighbours in it;
- a judge's choice among such answers and those of other methods, see `inference/judged.py`;
- `reestimated`: EM over the clusters found, all of which stay (AMCP*);
- `directed`: spherical k-means over the clusters found, for vectors of images;
- `consolidated`: a mixture whose likelihood and evidence also decide how many there are;
- `looked_at_again`: the answer after looks at pairs of clusters and at each alone;
- `described`: EM over clusters whose densities a network predicts, such as flows.

An ending is chosen once, from the traits of the system and the user's choice.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from coterie.densities.protocol import NoMarginal
from coterie.frames.protocol import Frame, FramedTable
from coterie.functional.em import Gaussians
from coterie.inference.amortized_em import em_by_network
from coterie.inference.assignment import apply_labels
from coterie.inference.ballot import Ballot
from coterie.inference.consensus import rule_of
from coterie.inference.constraints import Constraints
from coterie.inference.context import Rows, evenly_spaced
from coterie.inference.leftovers import smallest_kept
from coterie.inference.looks import Looks, memberships, settled
from coterie.inference.outliers import Spacing
from coterie.inference.proposal import Proposal
from coterie.inference.rejoined import rejoined
from coterie.inference.rules.branching import BranchingRule
from coterie.inference.rules.direct import DirectRule, present_clusters
from coterie.inference.rules.directions import DirectionRule
from coterie.inference.rules.mixture import MixtureRule
from coterie.inference.rules.neighbours import NeighbourRule
from coterie.inference.rules.posterior import PosteriorRule
from coterie.inference.rules.protocol import Rule
from coterie.inference.rules.replay import ReplayRule
from coterie.inference.rules.seating import SeatingRule
from coterie.inference.rules.wrapped import SpacedRule
from coterie.inference.second_look import confident_clusters
from coterie.judge.verdict import Verdict
from coterie.mixtures.consolidate import consolidate
from coterie.systems.protocol import Direct, PointWise, Sequential, cluster_numbers
from coterie.systems.traits import Traits

EndingName = Literal["auto", "network", "judge", "em", "consolidate", "looks"]
ENDINGS: tuple[EndingName, ...] = get_args(EndingName)
MOST_REJOINED = 2_000  # points: the neighbours of each among all take the square of it
PREDICTED = ("maf", "neural_statistician")  # densities that are estimated by a network alone


class Context(NamedTuple):
    """The points (m, D) on which clusters are found.

    rows: (m,), which points of the set they are; seen: which of them the network was shown;
    columns: how many columns hold data, None for all; rule_device: where the rule will compute;
    table: the table in its frame that the points come from, if they do.
    """

    points: NDArray[np.float32]
    rows: Rows
    seen: Rows
    columns: int | None
    rule_device: str
    table: FramedTable | None = None


class Ended(NamedTuple):
    """A rule, and the mean log-likelihood of the context where clusters have a density.

    verdict: on the answer, where there is one; own: whether the probabilities are a network's own;
    frame: that of the points of the rule, where it is not the network's; described: whether a
    mixture of Gaussians was found to describe the context; instead: what the ending would have said
    without that mixture; ballot: what a judge thought of the answers that it chose from.
    """

    rule: Rule
    log_likelihood: float | None = None
    verdict: Verdict | None = None
    own: bool = True
    frame: Frame | None = None
    described: bool = False
    instead: "Callable[[], Ended] | None" = None
    ballot: Ballot | None = None


End = Callable[[Proposal, Context, Constraints], Ended]


class Ending(NamedTuple):
    """How a clustering ends, and what that needs.

    proposes: the likelihood decides and the network only proposes, so it needs to see only some of
    the points; own: the probabilities are the network's own, so its temperature applies; exact:
    the system in float64 is needed; otherwise: how it ends where no mixture of Gaussians is tried,
    None if that makes no difference.
    """

    end: End
    proposes: bool = False
    own: bool = False
    exact: bool = False
    otherwise: End | None = None

    def without_mixture(self) -> "Ending":
        """The same ending, without a trial of a mixture of Gaussians."""
        return self if self.otherwise is None else self._replace(end=self.otherwise)


def network(proposal: Proposal, context: Context, constraints: Constraints) -> Ended:
    """The network's own answer."""
    if (mixture := _own_mixture(proposal, context)) is not None:
        return Ended(mixture, _own_log_likelihood(proposal, context))
    exact = proposal.exact
    if exact is None:
        exact = deepcopy(proposal.system).double()
    rule = _own_rule(exact, proposal, torch.float64)
    return Ended(rule, _own_log_likelihood(proposal, context))


def framed(proposal: Proposal, context: Context, constraints: Constraints) -> Ended:
    """The network's own answer on the context, and its nearest neighbours elsewhere."""
    ended = Ended(answer_of(proposal, context), _own_log_likelihood(proposal, context))
    return with_noise(ended, context, constraints)


def answer_of(proposal: Proposal, context: Context) -> Rule:
    """The network's answer on the context as a rule: that of the nearest neighbours elsewhere."""
    # In float32: the network is run once, on the context, so chunks cannot change its answer.
    own = _own_rule(proposal.system, proposal, torch.float32)
    rule = NeighbourRule.of(own, context.points)
    if all(commit.cluster is None for commit in proposal.commits) and proposal.commits:
        rule = rule.select(confident_clusters(proposal.clusters))
    return rule


def with_noise(ended: Ended, context: Context, constraints: Constraints) -> Ended:
    """Points far from all of the context are noise, where noise is asked for."""
    if not constraints.noise:
        return ended
    spacing = Spacing.of(context.points, apply_labels(ended.rule, context.points))
    return ended._replace(rule=SpacedRule(ended.rule, spacing))


def reestimated(proposal: Proposal, context: Context, constraints: Constraints) -> Ended:
    """EM over the clusters found (AMCP, Algorithm 1, line 12)."""
    return _mixture(proposal, context, constraints, change_k=False)


def directed(proposal: Proposal, context: Context, constraints: Constraints) -> Ended:
    """Clusters of directions, for vectors of an encoder, whose length says nothing.

    Where the encoder tells classes by the neighbours of an image, the clusters are first rejoined
    by these. Clusters of fewer points than any had in training are dissolved: points that the
    network has left behind, each of which has then become an anchor of its own.
    """
    labels = proposal.partition().labels
    points = torch.from_numpy(context.points[context.seen]).to(context.rule_device)
    traits = proposal.system.traits
    if traits.most_leakage:
        rows = evenly_spaced(len(points), MOST_REJOINED)
        points, labels = points[torch.from_numpy(rows).to(points.device)], labels[rows]
    least = max(traits.least_members, traits.least_share * len(labels))
    if traits.most_leakage:
        labels = (
            rejoined(
                points,
                torch.from_numpy(labels).to(points.device),
                traits.most_leakage,
                least=least,
                at_least=constraints.at_least,
                at_most=constraints.at_most,
            )
            .cpu()
            .numpy()
        )
    sizes = np.bincount(labels[labels >= 0])
    least = min(smallest_kept(sizes, least), *sorted(sizes)[-constraints.at_least :])
    number = np.where(sizes >= least, (sizes >= least).cumsum() - 1, -1)
    labels = np.where(labels >= 0, number[labels], -1)
    rule = DirectionRule.of(
        points,
        torch.from_numpy(labels).to(points.device),
        int(number.max()) + 1,
    )
    return Ended(rule)


def consolidated(proposal: Proposal, context: Context, constraints: Constraints) -> Ended:
    """A mixture that may have dropped, merged or split clusters."""
    return _mixture(proposal, context, constraints, change_k=True)


def predicted(
    proposal: Proposal, context: Context, constraints: Constraints, *, change_k: bool
) -> Ended:
    """A mixture of the densities that the network predicts of each cluster alone.

    Of a table with fewer columns, of which there is no density, it is the network's own answer.
    """
    own = network(proposal, context, constraints)
    if own.log_likelihood is None:
        return own
    system = cast("Sequential", proposal.system)
    exact = cast("Sequential", proposal.exact or deepcopy(system).double())
    seen = context.points[context.seen]
    labels = torch.from_numpy(apply_labels(own.rule, seen))
    points = torch.from_numpy(seen).to(own.rule.device)
    labels = labels.to(points.device)
    found = em_by_network(
        system,
        points,
        labels,
        change_k=change_k,
        at_least=constraints.at_least,
        at_most=constraints.at_most,
    )
    rule = PosteriorRule.of(exact, found.commits, found.log_weight, noise=constraints.noise)
    return Ended(rule, found.log_likelihood / len(points), own=False)


def looked_at_again(proposal: Proposal, context: Context, constraints: Constraints) -> Ended:
    """The network's own answer on the context after further looks, its nearest points elsewhere."""
    own = network(proposal, context, constraints)
    seen = context.points[context.seen]
    labels = np.unique(apply_labels(own.rule, seen), return_inverse=True)[1]
    points = torch.from_numpy(seen).to(own.rule.device)
    looks = Looks(cast("Sequential", proposal.system), points)
    labels = settled(looks, labels)
    ended = Ended(rule_of(memberships(looks, labels), seen), own=False)
    return with_noise(ended, context, constraints)


NETWORK_ENDING = Ending(network, own=True, exact=True)


def choose_ending(name: EndingName, traits: Traits, judged: End | None = None) -> Ending:
    """The ending of that name for a system with these traits; "auto" is the best it allows.

    judged: the ending by a judge, where one is at hand.
    """
    if name == "auto":
        own: EndingName = "network" if judged is None else "judge"
        name = "consolidate" if traits.density in ("gaussian", "maf") else own
        if traits.reads_images:
            name = "em"
        if traits.looks_again:
            name = "looks"
    if name not in ENDINGS:
        raise ValueError(f"unknown ending {name!r}; known: {', '.join(ENDINGS)}")
    if name == "judge":
        if judged is None or traits.frame != "standard":
            raise ValueError(
                'ending="judge" needs weights that scale the columns themselves, such as'
                ' "amcp-universal"; use ending="auto" or ending="network"'
            )
        return Ending(judged, own=True)
    if name == "network":
        return Ending(framed, own=True) if traits.frame == "standard" else NETWORK_ENDING
    if name == "looks":
        if not traits.looks_again:
            raise ValueError(
                'ending="looks" needs a network for tables with further looks, such as'
                ' "chigac-mog2d"; use ending="auto" or ending="network"'
            )
        return Ending(looked_at_again, exact=True)
    if name == "em" and traits.reads_images:
        return Ending(directed)
    if traits.density in PREDICTED:
        return Ending(partial(predicted, change_k=name == "consolidate"), exact=True)
    if traits.density != "gaussian":
        raise ValueError(
            f'ending="{name}" needs clusters with a Gaussian density or a flow, which these weights'
            ' do not have; use ending="auto" or ending="network"'
        )
    return Ending(consolidated, proposes=True) if name == "consolidate" else Ending(reestimated)


def _own_rule(system: Sequential | Direct, proposal: Proposal, precision: torch.dtype) -> Rule:
    if proposal.memberships is not None:
        return DirectRule.of(cast(Direct, system), proposal.memberships, precision)
    if isinstance(system, PointWise):
        return SeatingRule.of(system, proposal.commits, precision)
    sequential = cast(Sequential, system)
    if len(proposal.clusters) > len(proposal.commits):
        return BranchingRule.of(sequential, proposal.looks, precision)
    return ReplayRule.of(sequential, proposal.commits, precision)


def _own_mixture(proposal: Proposal, context: Context) -> MixtureRule | None:
    """The mixture that a direct system found, in the columns that hold data; None without one.

    Its posterior is a rule that needs no network.
    """
    if proposal.memberships is None or proposal.memberships.mixture is None:
        return None
    present = present_clusters(proposal.memberships)
    log_weight, mean, log_scale = (part[0, present] for part in proposal.memberships.mixture)
    columns = slice(context.columns)
    parts = (log_weight, mean[:, columns], log_scale[:, columns])
    return MixtureRule(Gaussians(*(part.double().to(context.rule_device) for part in parts)))


def _mixture(
    proposal: Proposal, context: Context, constraints: Constraints, *, change_k: bool
) -> Ended:
    found = proposal.partition()
    labels = np.full(len(context.points), -1)  # points that the network has not seen
    labels[context.seen] = found.labels
    # On the CPU: a path of small float64 steps, for which a GPU is too slow.
    fit = consolidate(
        context.points[:, : context.columns],
        labels,
        found.n_clusters,
        change_k=change_k,
        cluster_scale=proposal.system.traits.cluster_scale,
        at_least=constraints.at_least,
        at_most=constraints.at_most,
    )
    rule = MixtureRule.of(fit.mixture, context.rule_device)
    return Ended(rule, fit.total / len(context.points))


def _own_log_likelihood(proposal: Proposal, context: Context) -> float | None:
    """Under the mixture in the network's own parameters, weighted by who joined each cluster.

    Of several steps that served one cluster the density of the last counts. A direct system
    gives the weights itself.
    """
    if (mixture := _own_mixture(proposal, context)) is not None:
        seen = torch.from_numpy(context.points[context.seen]).to(mixture.device)
        return float(mixture.log_likelihood(seen).mean())
    clusters = proposal.clusters
    if not clusters or any(cluster.density is None for cluster in clusters):
        return None
    numbers = cluster_numbers(clusters)
    joined = torch.stack([cluster.joined[0].sum() for cluster in clusters]).double()
    sizes = joined.new_zeros(int(numbers.max()) + 1).index_add_(0, numbers, joined)
    last = dict(zip(numbers.tolist(), clusters, strict=True))
    points = torch.from_numpy(context.points[context.seen, : context.columns]).double()
    points = points.to(joined.device)
    try:
        joint = [
            density.log_prob(points[None])[0] + (sizes[number] / sizes.sum()).log()
            for number, cluster in last.items()
            if (density := cluster.density) is not None
        ]
    except NoMarginal:  # of a table with fewer columns
        return None
    return float(torch.stack(joint).logsumexp(0).mean())
