"""Rules, frames and encodings as plain JSON beside named tensors, and back, bit for bit.

A value is packed by its fields. Only the classes listed here are ever built again, and nothing is
executed or unpickled: a file that names another class is refused.
"""

import math
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor, nn

from coterie.densities.gaussian import DiagonalGaussian
from coterie.frames.column_parts import Indicators, Numbers, Omission
from coterie.frames.column_roles import LeftOut
from coterie.frames.encoded_table import TableEncoding
from coterie.frames.images import EncodedImages
from coterie.frames.plain import PlainColumns
from coterie.frames.standard import StandardColumns
from coterie.functional.em import Gaussians
from coterie.inference.drift import Familiar
from coterie.inference.outliers import Spacing
from coterie.inference.rules.branching import BranchingRule
from coterie.inference.rules.cuts import Cut
from coterie.inference.rules.direct import DirectRule
from coterie.inference.rules.directions import DirectionRule
from coterie.inference.rules.divided import DividedRule
from coterie.inference.rules.full_mixture import FullMixtureRule
from coterie.inference.rules.merged import MergedRule
from coterie.inference.rules.mixture import MixtureRule
from coterie.inference.rules.neighbours import NeighbourRule
from coterie.inference.rules.partition import PartitionRule
from coterie.inference.rules.posterior import PosteriorRule
from coterie.inference.rules.replay import ReplayRule
from coterie.inference.rules.wrapped import FramedRule, SpacedRule, TemperedRule
from coterie.systems.protocol import Commit
from coterie.systems.registry import build, settings_of

RULES = (
    *(BranchingRule, DirectRule, DividedRule, FramedRule, FullMixtureRule, MergedRule, MixtureRule),
    *(DirectionRule, NeighbourRule, PartitionRule, PosteriorRule, ReplayRule, SpacedRule),
    TemperedRule,
)
PARTS = (
    *(Commit, Cut, DiagonalGaussian, Familiar, Gaussians, Spacing, PlainColumns, StandardColumns),
    *(EncodedImages, Indicators, LeftOut, Numbers, Omission, TableEncoding),
)
KNOWN: dict[str, type] = {each.__name__: each for each in (*RULES, *PARTS)}
LEAF = 16  # points in a leaf of a tree, where a file does not say
PRECISIONS = {"float32": torch.float32, "float64": torch.float64}


class Packed(NamedTuple):
    """A value as JSON, and the tensors that it names."""

    value: Any
    tensors: dict[str, Tensor]


def pack(value: Any) -> Packed:
    """The JSON and the tensors of a value, on the CPU."""
    packer = _Packer()
    packed = packer.pack(value)
    return Packed(packed, packer.tensors)


def unpack(packed: Packed) -> Any:
    """The value of `pack`; anything else raises ValueError, TypeError, KeyError or the like."""
    return _Unpacker(packed.tensors).unpack(packed.value)


class _Packer:
    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._systems: dict[int, str] = {}

    def pack(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):  # also NumPy's
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        if isinstance(value, Tensor):
            return {"tensor": self._store(value), "axes": _layout(value)}
        if isinstance(value, np.ndarray):
            as_tensor = torch.from_numpy(_ordinary(value))
            return {"array": self._store(as_tensor), "axes": _layout(as_tensor)}
        if isinstance(value, cKDTree):
            return {"tree": self.pack(np.asarray(value.data)), "leaf": int(value.leafsize)}
        if isinstance(value, torch.dtype):
            return {"precision": _name_of(value)}
        if isinstance(value, nn.Module):
            return self._pack_system(value)
        return self._pack_fields(value)

    def _pack_fields(self, value: Any) -> Any:
        name = type(value).__name__
        if KNOWN.get(name) is not type(value):
            if type(value) in (tuple, list):
                return [self.pack(each) for each in value]
            raise TypeError(f"a {name} cannot be saved")
        named = {each: self.pack(getattr(value, each)) for each in _field_names(KNOWN[name])}
        return {"class": name, "fields": named}

    def _pack_system(self, system: Any) -> dict[str, Any]:
        """A network by its settings and weights; a second mention refers to the first."""
        if id(system) not in self._systems:
            number = self._systems[id(system)] = f"system{len(self._systems)}"
            for name, tensor in system.state_dict().items():
                self.tensors[f"{number}.{name}"] = _narrow(tensor)
        parameter = next(system.parameters())
        return {
            "system": system.name,
            "tensors": self._systems[id(system)],
            "settings": settings_of(system),
            "frame": system.traits.frame,
            "precision": _name_of(parameter.dtype),
        }

    def _store(self, tensor: Tensor) -> str:
        name = f"tensor{len(self.tensors)}"
        plain = tensor.detach().cpu()
        self.tensors[name] = plain.permute(_layout(plain)).contiguous().clone()
        return name


class _Unpacker:
    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self._tensors = tensors
        self._systems: dict[tuple[str, str], nn.Module] = {}

    def unpack(self, packed: Any) -> Any:
        if packed is None or isinstance(packed, bool | int | float | str):
            return packed
        if isinstance(packed, list):
            return tuple(self.unpack(each) for each in packed)
        (kind, *_) = packed
        if kind == "float":
            return float(packed["float"])
        if kind in ("tensor", "array"):
            # A copy, because tensors of a file are not aligned, which changes the last bits too.
            tensor = self._tensors[packed[kind]].clone().permute(tuple(np.argsort(packed["axes"])))
            return tensor if kind == "tensor" else tensor.numpy()
        if kind == "tree":
            # With the same leaves: which of equally near places is found depends on them.
            return cKDTree(self.unpack(packed["tree"]), leafsize=packed.get("leaf", LEAF))
        if kind == "precision":
            return PRECISIONS[packed["precision"]]
        if kind == "system":
            return self._system(packed)
        made = {name: self.unpack(each) for name, each in packed["fields"].items()}
        return KNOWN[packed["class"]](**made)

    def _system(self, packed: dict[str, Any]) -> nn.Module:
        key = (packed["tensors"], packed["precision"])
        if key not in self._systems:
            self._systems[key] = self._built(packed)
        return self._systems[key]

    def _built(self, packed: dict[str, Any]) -> nn.Module:
        prefix = f"{packed['tensors']}."
        weights = {
            name.removeprefix(prefix): tensor
            for name, tensor in self._tensors.items()
            if name.startswith(prefix)
        }
        settings = packed["system"], packed["settings"], packed["frame"]
        with torch.device("meta"):  # without memory: settings may ask for any size
            expected = {name: each.shape for name, each in build(*settings).state_dict().items()}
        if expected != {name: tensor.shape for name, tensor in weights.items()}:
            raise ValueError("the weights of the network do not fit its settings")
        system = build(*settings)
        system.load_state_dict(weights)
        return system.to(PRECISIONS[packed["precision"]]).eval().requires_grad_(False)


def _field_names(kind: Any) -> list[str]:
    """The fields of a dataclass or a named tuple."""
    return [each.name for each in fields(kind)] if is_dataclass(kind) else list(kind._fields)


def _layout(tensor: Tensor) -> list[int]:
    """The axes in the order in which they lie in memory: the last bits of products depend on it."""
    steps = tensor.stride()
    return sorted(range(tensor.ndim), key=lambda axis: -steps[axis])


def _ordinary(array: NDArray) -> NDArray:
    """The same numbers in the same order of axes, in memory that torch can read."""
    if array.flags.writeable and all(step > 0 for step in array.strides):
        return array
    return np.array(array, order="K")


def _narrow(tensor: Tensor) -> Tensor:
    """Weights in float32, where that loses nothing: a network in float64 was read in float32."""
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.float64 and torch.equal(tensor.float().double(), tensor):
        tensor = tensor.float()
    return tensor.contiguous().clone()


def _name_of(precision: torch.dtype) -> str:
    return str(precision).removeprefix("torch.")
