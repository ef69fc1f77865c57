// Positions of points on a canvas. The aspect ratio is 4:3, as for every canvas.
export const WORLD = { x: 0, y: 0, halfHeight: 6 };
const ASPECT = 4 / 3;
const MARGIN = 1.15;

// The view of all points of a table, with a margin.
export function viewOf(plane) {
  if (!plane.length) return WORLD;
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of plane) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    low = Math.min(low, y);
    high = Math.max(high, y);
  }
  const halfHeight = (Math.max((right - left) / ASPECT, high - low, 1e-9) / 2) * MARGIN;
  return { x: (left + right) / 2, y: (low + high) / 2, halfHeight };
}

export function toCanvas(view, width, height) {
  const scale = height / 2 / view.halfHeight;
  return {
    scale,
    x: (x) => width / 2 + (x - view.x) * scale,
    y: (y) => height / 2 - (y - view.y) * scale,
  };
}

export function toWorld(view, canvas, clientX, clientY) {
  const box = canvas.getBoundingClientRect();
  const scale = box.height / 2 / view.halfHeight;
  return [
    view.x + (clientX - box.left - box.width / 2) / scale,
    view.y - (clientY - box.top - box.height / 2) / scale,
  ];
}
