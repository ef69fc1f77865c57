// Downloads of a panel.
import { drawPicture, lastFrame } from "./picture.js";
import { pythonFor } from "./python.js";

export function save(name, blob) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

const cell = (value) =>
  /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);

const count = (text, letter) => text.split(letter).length;

// The original lines of the file with their clusters; null if its lines do not match its rows.
function linesOfFile({ text, names }, header, added) {
  const lines = text
    .replace(/^\ufeff/, "")
    .trimEnd()
    .split(/\r?\n/);
  const [separator] = [...",;\t"].sort((a, b) => count(lines[0], b) - count(lines[0], a));
  if (lines.length === added.length) lines.unshift(names.join(separator)); // no header
  if (lines.length !== added.length + 1) return null;
  return [header, ...added].map((cells, i) => [lines[i], ...cells].join(separator));
}

function linesOfPoints({ points, source }, header, added) {
  const names =
    source.columns ?? (points[0].length === 2 ? ["x", "y"] : points[0].map((_, i) => `x${i + 1}`));
  return [[...names, ...header], ...added.map((cells, i) => [...points[i], ...cells])].map((row) =>
    row.map(cell).join(","),
  );
}

export function saveLabels(store, { method, labels, confidence }) {
  const header = confidence ? ["cluster", "confidence"] : ["cluster"];
  const added = labels.map((label, i) => (confidence ? [label, confidence[i]] : [label]));
  const theirs = store.source.kind === "table" ? linesOfFile(store.source, header, added) : null;
  const lines = theirs ?? linesOfPoints(store, header, added);
  save(`labels-${method}.csv`, new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
}

export async function savePicture(scene, method) {
  const canvas = new OffscreenCanvas(1600, 1200);
  drawPicture(canvas.getContext("2d"), 1600, 1200, {
    ...scene,
    frame: Math.min(scene.frame, lastFrame(scene.result)),
  });
  save(`clusters-${method.name}.png`, await canvas.convertToBlob({ type: "image/png" }));
}

export function saveCode(store, result) {
  save(
    `cluster_${result.method.replaceAll("-", "_")}.py`,
    new Blob([pythonFor(store, result)], { type: "text/x-python" }),
  );
}
