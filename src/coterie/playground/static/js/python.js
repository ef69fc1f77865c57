// The Python program equivalent to a panel.
const quoted = (text) => JSON.stringify(text);

export function pythonFor(store, method) {
  const { source, points } = store;
  const data = source.kind === "table" ? readLines(source) : arrayLines(points);
  return [
    ...data,
    "",
    method.code.trimEnd(),
    'print(f"{len(set(labels.tolist()))} clusters")',
    "",
  ].join("\n");
}

const readLines = ({ file, truth, scale }) => [
  "from pathlib import Path",
  "",
  "from coterie.playground.tables import read_points",
  "",
  `text = Path(${quoted(file)}).read_text(encoding="utf-8-sig")`,
  `X = read_points(text, truth=${quoted(truth)}, scale=${quoted(scale)}).points`,
];

const arrayLines = (points) => [
  "import numpy as np",
  "",
  "X = np.array(",
  "    [",
  ...points.map((point) => `        [${point.join(", ")}],`),
  "    ],",
  "    dtype=float,",
  ")",
];
