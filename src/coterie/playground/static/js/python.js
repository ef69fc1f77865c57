// The Python program equivalent to a panel.
const quoted = (text) => JSON.stringify(text);

export function pythonFor({ source, points }, { code }) {
  const data = source.kind === "table" ? readLines(source) : arrayLines(points);
  return [
    ...data,
    "",
    code.trimEnd(),
    'print(f"{len(set(labels.tolist()) - {-1})} clusters")',
    "",
  ].join("\n");
}

const readLines = ({ file, truth, scale, chosen }) => [
  "from pathlib import Path",
  "",
  "from coterie.playground.tables import read_points",
  "",
  `text = Path(${quoted(file)}).read_text(encoding="utf-8-sig")`,
  ...(chosen.length ? [`columns = [${chosen.map(quoted).join(", ")}]`] : []),
  `X = read_points(text, truth=${quoted(truth)}, scale=${quoted(scale)}` +
    `${chosen.length ? ", columns=columns" : ""}).points`,
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
