// Membership probabilities as a glow: each cell of a coarse grid shows the mean of the points
// around it, weighted by distance, and fades out where there are none.
const COLUMNS = 96;
const ROWS = 72;
const REACH = 5; // cells
const WIDTH = 1.9; // cells
const STRENGTH = 0.6;
const SPARSE = 4; // the weight at which the glow has half its strength

const kernel = [];
for (let dy = -REACH; dy <= REACH; dy++) {
  for (let dx = -REACH; dx <= REACH; dx++) {
    kernel.push([dx, dy, Math.exp(-(dx * dx + dy * dy) / (2 * WIDTH * WIDTH))]);
  }
}

// spots: [x, y, [r, g, b], probability] in the pixels of a width x height canvas.
export function drawGlow(context, width, height, spots) {
  const size = COLUMNS * ROWS;
  const [red, green, blue, strength, weight] = Array.from(
    { length: 5 },
    () => new Float32Array(size),
  );
  for (const [x, y, [r, g, b], probability] of spots) {
    const column = Math.floor((x / width) * COLUMNS);
    const row = Math.floor((y / height) * ROWS);
    for (const [dx, dy, closeness] of kernel) {
      const [c, s] = [column + dx, row + dy];
      if (c < 0 || c >= COLUMNS || s < 0 || s >= ROWS) continue;
      const at = s * COLUMNS + c;
      const share = closeness * probability;
      weight[at] += closeness;
      strength[at] += share;
      red[at] += share * r;
      green[at] += share * g;
      blue[at] += share * b;
    }
  }
  const image = new ImageData(COLUMNS, ROWS);
  for (let at = 0; at < size; at++) {
    if (strength[at] < 1e-4) continue;
    const probability = strength[at] / weight[at];
    image.data.set(
      [
        red[at] / strength[at],
        green[at] / strength[at],
        blue[at] / strength[at],
        255 * STRENGTH * probability * (weight[at] / (weight[at] + SPARSE)),
      ],
      4 * at,
    );
  }
  const small = new OffscreenCanvas(COLUMNS, ROWS);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(small, 0, 0, width, height);
}
