// One frame of one panel. Frame 0 is before the first step, frame s after step s, the last one is
// the outcome.
import { drawGlow } from "./heat.js";
import { colourOf, rgb, shapeOf } from "./palette.js";
import { toCanvas } from "./view.js";

const OUTLINES = {
  disc: null,
  triangle: [
    [0, -1.25],
    [1.1, 0.8],
    [-1.1, 0.8],
  ],
  down: [
    [0, 1.25],
    [1.1, -0.8],
    [-1.1, -0.8],
  ],
  square: [
    [-0.9, -0.9],
    [0.9, -0.9],
    [0.9, 0.9],
    [-0.9, 0.9],
  ],
  diamond: [
    [0, -1.3],
    [1.3, 0],
    [0, 1.3],
    [-1.3, 0],
  ],
  cross: [
    [-0.4, -1.2],
    [0.4, -1.2],
    [0.4, -0.4],
    [1.2, -0.4],
    [1.2, 0.4],
    [0.4, 0.4],
    [0.4, 1.2],
    [-0.4, 1.2],
    [-0.4, 0.4],
    [-1.2, 0.4],
    [-1.2, -0.4],
    [-0.4, -0.4],
  ],
};

export const lastFrame = (result) => (result?.steps ? result.steps.length + 1 : 0);

export function drawPicture(
  context,
  width,
  height,
  { plane, axes, view, result, frame, numbers, theme },
) {
  const place = toCanvas(view, width, height);
  const at = plane.map(([x, y]) => [place.x(x), place.y(y)]);
  const radius = dotRadius(plane.length, width);
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, width, height);
  drawGrid(context, width, height, place, view, theme);
  if (axes) drawAxes(context, width, height, axes, theme);
  if (!result) {
    for (const point of at) dot(context, point, radius, "disc", null, theme.waiting);
    return;
  }
  const painter = {
    context,
    width,
    height,
    at,
    radius,
    result,
    theme,
    number: (c) => numbers[c] ?? c,
  };
  if (result.steps && frame <= result.steps.length) drawSteps(painter, frame);
  else drawOutcome(painter);
}

function drawOutcome({ context, width, height, at, radius, result, theme, number }) {
  const { labels, confidence, n_clusters: k } = result;
  const sure = labels.map((_, i) =>
    confidence && k > 1 ? (confidence[i] - 1 / k) / (1 - 1 / k) : 1,
  );
  const known = at.slice(0, labels.length);
  drawGlow(
    context,
    width,
    height,
    known.flatMap(([x, y], i) =>
      labels[i] < 0
        ? []
        : [[x, y, rgb(colourOf(number(labels[i]))), 0.75 * (confidence?.[i] ?? 1)]],
    ),
  );
  known.forEach((point, i) => {
    if (labels[i] < 0) {
      context.globalAlpha = 1;
      dot(context, point, radius * 0.8, "cross", null, theme.waiting);
      return;
    }
    const cluster = number(labels[i]);
    context.globalAlpha = 0.25 + 0.7 * Math.max(0, sure[i]);
    dot(context, point, radius, shapeOf(cluster), colourOf(cluster), null);
  });
  context.globalAlpha = 1;
  for (const point of at.slice(labels.length))
    dot(context, point, radius, "disc", null, theme.waiting);
}

function drawSteps({ context, width, height, at, radius, result, theme, number }, frame) {
  const waiting = new Set(at.keys());
  result.steps.slice(0, Math.max(0, frame - 1)).forEach((step) => {
    const cluster = number(fateOf(step, result));
    context.globalAlpha = 0.45;
    for (const i of step.claimed) {
      dot(context, at[i], radius * 0.9, shapeOf(cluster), colourOf(cluster), null);
      waiting.delete(i);
    }
  });
  context.globalAlpha = 1;
  if (frame === 0) {
    for (const i of waiting) dot(context, at[i], radius, "disc", null, theme.waiting);
    return;
  }
  const step = result.steps[frame - 1];
  const cluster = number(fateOf(step, result));
  const colour = colourOf(cluster);
  drawGlow(
    context,
    width,
    height,
    step.offered.map((i, j) => [...at[i], rgb(colour), step.probabilities[j]]),
  );
  const claimed = new Set(step.claimed);
  step.offered.forEach((i, j) => {
    waiting.delete(i);
    if (claimed.has(i)) return;
    dot(context, at[i], radius, "disc", theme.paper, theme.waiting);
    context.globalAlpha = step.probabilities[j];
    dot(context, at[i], radius, "disc", colour, null);
    context.globalAlpha = 1;
  });
  for (const i of waiting) dot(context, at[i], radius * 0.7, "disc", theme.waiting, null);
  for (const i of claimed) dot(context, at[i], radius * 1.15, shapeOf(cluster), colour, theme.rim);
}

// The final cluster of most of a step's points.
export function fateOf(step, result) {
  const counts = new Array(result.n_clusters).fill(0);
  for (const i of step.claimed) if (result.labels[i] >= 0) counts[result.labels[i]] += 1;
  return counts.indexOf(Math.max(...counts));
}

function dotRadius(count, width) {
  return (
    Math.min(5.2, Math.max(1.4, 5.2 * Math.sqrt(250 / Math.max(count, 1)))) *
    Math.max(0.55, Math.min(1.2, width / 800))
  );
}

function dot(context, [x, y], radius, shape, fill, edge) {
  context.beginPath();
  const outline = OUTLINES[shape];
  if (!outline) context.arc(x, y, radius, 0, 2 * Math.PI);
  else
    outline.forEach(([dx, dy], i) =>
      context[i ? "lineTo" : "moveTo"](x + dx * radius, y + dy * radius),
    );
  context.closePath();
  if (fill) {
    context.fillStyle = fill;
    context.fill();
  }
  if (edge) {
    context.strokeStyle = edge;
    context.lineWidth = Math.max(0.8, radius / 4);
    context.stroke();
  }
}

function drawGrid(context, width, height, place, view, theme) {
  const gap = 10 ** Math.floor(Math.log10(view.halfHeight)) * 2;
  context.strokeStyle = theme.grid;
  context.lineWidth = 1;
  context.beginPath();
  const reach = (view.halfHeight * 4) / 3;
  for (let x = Math.ceil((view.x - reach) / gap) * gap; x < view.x + reach; x += gap) {
    context.moveTo(Math.round(place.x(x)) + 0.5, 0);
    context.lineTo(Math.round(place.x(x)) + 0.5, height);
  }
  for (
    let y = Math.ceil((view.y - view.halfHeight) / gap) * gap;
    y < view.y + view.halfHeight;
    y += gap
  ) {
    context.moveTo(0, Math.round(place.y(y)) + 0.5);
    context.lineTo(width, Math.round(place.y(y)) + 0.5);
  }
  context.stroke();
}

// The names of the columns or axes, at the ends of the directions.
function drawAxes(context, width, height, [across, up], theme) {
  const size = Math.max(11, Math.min(width / 52, 24));
  const short = (name) => (name.length > 36 ? `${name.slice(0, 35)}…` : name);
  context.font = `${size}px system-ui, sans-serif`;
  context.fillStyle = theme.label;
  context.textBaseline = "bottom";
  context.textAlign = "right";
  if (across) context.fillText(`${short(across)} →`, width - size, height - size * 0.7);
  context.textBaseline = "top";
  context.textAlign = "left";
  if (up) context.fillText(`↑ ${short(up)}`, size, size * 0.8);
}

export const THEMES = {
  light: {
    paper: "#ffffff",
    grid: "#f1f2f4",
    waiting: "#9aa0aa",
    label: "#626975",
    rim: "rgb(0 0 0 / 55%)",
    cursor: "#1d2127",
  },
  dark: {
    paper: "#191c20",
    grid: "#22262b",
    waiting: "#737a85",
    label: "#a3a9b3",
    rim: "rgb(255 255 255 / 70%)",
    cursor: "#e8eaed",
  },
};
