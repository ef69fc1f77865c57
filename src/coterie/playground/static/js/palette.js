// Okabe and Ito's palette without yellow and black, which are hard to see on white or look like
// text; later clusters repeat the colours with other markers.
export const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
export const SHAPES = ["disc", "triangle", "square", "diamond", "down", "cross"];

export const colourOf = (cluster) => COLOURS[cluster % COLOURS.length];
export const shapeOf = (cluster) => SHAPES[Math.floor(cluster / COLOURS.length) % SHAPES.length];

export const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// Renumbers the clusters of a panel so that clusters which share most points with those of a
// reference have the same number and colour.
export function matchColours(labels, reference) {
  const k = Math.max(-1, ...labels) + 1;
  const identity = Array.from({ length: k }, (_, number) => number);
  if (!reference || reference === labels) return identity;
  const shared = new Map();
  for (let i = 0; i < Math.min(labels.length, reference.length); i++) {
    if (labels[i] < 0 || reference[i] < 0) continue; // noise
    const key = `${labels[i]},${reference[i]}`;
    shared.set(key, (shared.get(key) ?? 0) + 1);
  }
  const numbers = new Array(k).fill(-1);
  const used = new Set();
  for (const [key] of [...shared].sort((a, b) => b[1] - a[1])) {
    const [ours, theirs] = key.split(",").map(Number);
    if (numbers[ours] >= 0 || used.has(theirs)) continue;
    numbers[ours] = theirs;
    used.add(theirs);
  }
  let free = 0;
  return numbers.map((number) => {
    if (number >= 0) return number;
    while (used.has(free)) free += 1;
    used.add(free);
    return free;
  });
}
