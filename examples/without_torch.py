"""Cluster a table with onnxruntime and numpy alone: the loop of AMCP, or the one graph of ACT-ST.

Run `coterie export onnx amcp-universal --out model` once, then `python without_torch.py model
x.npy`. The clusters are those of the network, without consolidation.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime


def cluster(folder, table, max_steps=64):
    """The cluster of each of the rows (n, d): (n,), in AMCP the step that claimed it or -1."""
    if (Path(folder) / "mixture.onnx").exists():
        log_probabilities = encoded(opened(folder, "mixture.onnx"), table)["log_probabilities"]
        return log_probabilities[0].argmax(1)
    step = opened(folder, "step.onnx")
    state = encoded(opened(folder, "encoder.onnx"), table)
    known = {given.name for given in step.get_inputs()}
    labels = np.full(len(table), -1)
    for number in range(max_steps):
        if not state["remaining"].any():
            break
        outputs = step.run(None, {name: state[name] for name in known})
        claimed, _, state["remaining"], state["finished"], state["refused"] = outputs
        if not claimed.any():
            break
        labels[claimed[0]] = number
    return labels


def opened(folder, name):
    """A graph of the folder, ready to run."""
    return onnxruntime.InferenceSession(Path(folder) / name, providers=["CPUExecutionProvider"])


def encoded(graph, table):
    """What a graph says of a table (n, d), by name."""
    card = json.loads(graph.get_modelmeta().custom_metadata_map["coterie"])
    names = [output.name for output in graph.get_outputs()]
    return dict(zip(names, graph.run(None, {"points": in_frame(table, card)[None]}), strict=True))


def in_frame(table, card):
    """A table (n, d) as the network reads it, (n, width); the card says how."""
    table, (width,) = np.asarray(table, dtype=np.float64), card["traits"]["item_shape"]
    if card["traits"]["frame"] == "standard":
        table = on_principal_axes(standardised(table), width)
    if table.shape[1] > width:
        raise ValueError(f"{table.shape[1]} columns, the network reads {width}")
    return np.pad(table, ((0, 0), (0, width - table.shape[1]))).astype(np.float32)


def standardised(table):
    """Columns in units of their standard deviation, which outliers do not determine."""
    centre, spread = table.mean(0), table.std(0)
    constant = spread <= 1e-12 * abs(table).max(0)
    for _ in range(4):
        clipped = np.clip(table, centre - 3 * spread, centre + 3 * spread)
        centre, spread = clipped.mean(0), clipped.std(0)
    unit = np.divide(1, spread, out=np.zeros_like(spread), where=~constant & (spread > 0))
    return np.clip((table - centre) * unit, -10, 10)


def on_principal_axes(table, width):
    """Coordinates along the first axes, the first of variance one; the skewness gives the signs."""
    centred = table - table.mean(0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:width].T
    scores = centred @ axes
    variance, third = scores.var(0), (scores**3).mean(0)
    if variance[0] == 0:  # all rows are equal
        return scores
    symmetric = abs(third) <= 1e-6 * variance**1.5
    leading = np.take_along_axis(axes, (abs(axes) > 1e-6).argmax(0)[None], 0)[0]
    sign = np.where(np.where(symmetric, leading, third) < 0, -1, 1)
    seen = variance > 1e-10 * variance[0]
    return np.clip(scores * sign * seen / np.sqrt(variance[0]), -20, 20)


if __name__ == "__main__":
    folder, file = sys.argv[1:]
    labels = cluster(folder, np.load(file))
    print(f"{labels.max() + 1} clusters of sizes {np.bincount(labels[labels >= 0]).tolist()}")
