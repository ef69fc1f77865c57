"""Functions without an ONNX operator, in onnxscript's subset of Python."""

# mypy: ignore-errors

from onnxscript import BOOL, FLOAT, INT64, graph, script
from onnxscript import opset18 as op


@script()
def visit(points: FLOAT[...], mask: BOOL[...]) -> tuple[INT64[...], FLOAT[...]]:
    """`coterie.kernels.visit` for one set without padding."""
    table = op.Squeeze(points, op.Constant(value_ints=[0]))
    far = op.Constant(value_floats=[1e38])
    start = op.Constant(value_ints=[0])
    ground = op.Constant(value_floats=[0.0])

    @graph()
    def turn(
        nearest: FLOAT[...],
        visited: FLOAT[...],
        latest: INT64[1],
        height: FLOAT[1],
        here: FLOAT[...],
    ):
        """From the latest visit to the next; `here` only counts the turns."""
        apart = table - op.Gather(table, latest, axis=0)
        square = op.ReduceSum(apart * apart, op.Constant(value_ints=[1]), keepdims=0)
        nearer = op.Min(nearest, square)
        closed = op.ScatterElements(visited, latest, far, axis=0)
        left = nearer + closed
        following = op.ArgMin(left, axis=0, keepdims=1)
        climb = op.Gather(left, following, axis=0)
        return nearer, closed, following, climb, op.Identity(latest), op.Identity(height)

    count = op.Shape(table, start=0, end=1)
    _, _, _, _, order, heights = op.Scan(
        op.Expand(far, count),
        op.Expand(ground, count),
        start,
        ground,
        table,
        body=turn,
        num_scan_inputs=1,
    )
    order = op.Reshape(order, op.Constant(value_ints=[1, -1]))
    return order, op.Sqrt(op.Reshape(heights, op.Constant(value_ints=[1, -1])))


@script()
def cummax(values: FLOAT[...], dim: int) -> tuple[FLOAT[...], INT64[...]]:
    """torch.cummax of non-negative numbers (1, L, N) along N, without the indices."""

    @graph()
    def further(so_far: FLOAT[...], value: FLOAT[...]):
        largest = op.Max(so_far, value)
        return largest, op.Identity(largest)

    nothing = op.ReduceMin(values, op.Constant(value_ints=[2]), keepdims=0)
    _, reached = op.Scan(
        nothing, values, body=further, num_scan_inputs=1, scan_input_axes=[2], scan_output_axes=[2]
    )
    return reached, op.Cast(reached, to=7)
