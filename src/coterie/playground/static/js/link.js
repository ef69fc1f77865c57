// The state of the page as the hash of its address. Presets are encoded by their settings, drawn
// points in thousandths, tables by their numbers.
const MOST_NUMBERS = 12_000;

const toText = (array) => {
  const bytes = new Uint8Array(array.buffer);
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const fromText = (text, Kind) => {
  const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new Kind(Uint8Array.from(bytes, (letter) => letter.charCodeAt(0)).buffer);
};

const rowsOf = (values, width) =>
  Array.from({ length: Math.floor(values.length / width) }, (_, i) =>
    Array.from(values.subarray(i * width, (i + 1) * width)),
  );

const wantedOf = (parts) => parts.get("wanted")?.match(/^[1-9]\d{0,2}(-[1-9]\d{0,2})?$/)?.[0] ?? "";

// The hash, or null if there are too many points for an address.
export function encode({ source, points, knownTruth, wishes }, methods, frame) {
  const parts = new URLSearchParams();
  if (source.kind === "preset") {
    const { name, k, overlap, n, seed } = source;
    for (const [key, value] of Object.entries({ preset: name, k, overlap, n, seed }))
      parts.set(key, value);
  } else if (points.length) {
    const width = points[0].length;
    if (points.length * width > MOST_NUMBERS) return null;
    const flat = points.flat();
    const isSmall = flat.every(
      (value) => Math.abs(value) < 32 && Number.isInteger(Number((value * 1000).toFixed(6))),
    );
    if (isSmall)
      parts.set("points", toText(Int16Array.from(flat, (value) => Math.round(value * 1000))));
    else parts.set("values", toText(Float64Array.from(flat)));
    if (width !== 2) parts.set("width", width);
    if (source.columns) parts.set("columns", JSON.stringify(source.columns));
    if (knownTruth) parts.set("truth", toText(Int32Array.from(knownTruth)));
  }
  parts.set("methods", methods.join(","));
  if (wishes.k) parts.set("wanted", wishes.k);
  if (wishes.noise) parts.set("noise", "yes");
  if (frame !== null) parts.set("step", frame);
  return `#${parts}`;
}

// {preset} or {points, truth, columns}, with methods, wishes and frame; null for an empty hash.
export function decode(hash) {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  if (!parts.has("methods")) return null;
  const step = parts.get("step");
  const found = {
    methods: parts.get("methods").split(",").filter(Boolean),
    wishes: { k: wantedOf(parts), noise: parts.get("noise") === "yes" },
    frame: step === null ? null : Number(step),
  };
  if (parts.has("preset")) {
    const number = (key) => Number(parts.get(key));
    found.preset = {
      name: parts.get("preset"),
      k: number("k"),
      overlap: number("overlap"),
      n: number("n"),
      seed: number("seed"),
    };
    return found;
  }
  const width = Number(parts.get("width") ?? 2);
  let flat = [];
  if (parts.has("points"))
    flat = Float64Array.from(fromText(parts.get("points"), Int16Array), (value) => value / 1000);
  else if (parts.has("values")) flat = fromText(parts.get("values"), Float64Array);
  found.points = flat.length ? rowsOf(flat, width) : [];
  found.truth = parts.has("truth") ? Array.from(fromText(parts.get("truth"), Int32Array)) : null;
  found.columns = parts.has("columns") ? JSON.parse(parts.get("columns")) : undefined;
  return found;
}
