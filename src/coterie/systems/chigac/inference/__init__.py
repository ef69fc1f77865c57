"""Inference strategies of CHiGac, by name: only the optimisation of the variational parameters."""

from coterie.systems.chigac.config import InferenceName
from coterie.systems.chigac.inference.amortized import amortized
from coterie.systems.chigac.inference.ergodic import ergodic
from coterie.systems.chigac.inference.iterative import iterative
from coterie.systems.chigac.inference.protocol import Strategy
from coterie.systems.chigac.inference.semi_amortized import semi_amortized
from coterie.systems.chigac.inference.svi import svi

STRATEGIES: dict[InferenceName, Strategy] = {
    "ai": amortized,
    "semi-ai": semi_amortized,
    "iai": iterative,
    "svi-ai": svi,
    "eai": ergodic,
}
