"""Cluster points with onnxruntime and numpy alone: the loop of AMCP around two exported graphs.

Run `coterie export onnx amcp-mog2d --out model` once, then `python without_torch.py model x.npy`.
The clusters are those of the network, without consolidation.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime


def cluster(folder, points, max_steps=64):
    """The step that claimed each of the points (n, d): (n,), -1 for unclaimed ones."""
    encoder, step = (
        onnxruntime.InferenceSession(Path(folder) / name, providers=["CPUExecutionProvider"])
        for name in ("encoder.onnx", "step.onnx")
    )
    names = [output.name for output in encoder.get_outputs()]
    encoded = encoder.run(None, {"points": points[None].astype(np.float32)})
    state = dict(zip(names, encoded, strict=True))
    known = {given.name for given in step.get_inputs()}
    labels = np.full(len(points), -1)
    for number in range(max_steps):
        if not state["remaining"].any():
            break
        outputs = step.run(None, {name: state[name] for name in known})
        claimed, _, state["remaining"], state["finished"], state["refused"] = outputs
        if not claimed.any():
            break
        labels[claimed[0]] = number
    return labels


if __name__ == "__main__":
    folder, file = sys.argv[1:]
    labels = cluster(folder, np.load(file))
    print(f"{labels.max() + 1} clusters of sizes {np.bincount(labels[labels >= 0]).tolist()}")
