// The page: connects its parts.
import { Address } from "./address.js";
import * as api from "./api.js";
import { Brush } from "./brush.js";
import { Files } from "./files.js";
import { Gallery } from "./gallery.js";
import { showHelp } from "./help.js";
import { listenToKeys } from "./keys.js";
import { Presets } from "./presets.js";
import { Replay } from "./replay.js";
import { $, grouped, say } from "./say.js";
import { Store } from "./store.js";
import { WishControls } from "./wishes.js";

const [methods, families, limits] = await Promise.all([api.methods(), api.presets(), api.limits()]);
const store = new Store();
const replay = new Replay({
  play: $("play"),
  back: $("back"),
  forward: $("forward"),
  slider: $("step"),
  name: $("step-name"),
});
const brush = new Brush(store, {
  limit: limits.max_points,
  onFull: () => say(`this server allows ${grouped(limits.max_points)} points`),
});
const gallery = new Gallery(store, methods, brush, replay);
$("n").max = Math.min($("n").max, limits.max_points);
const presets = new Presets(store, families, {
  buttons: $("presets"),
  k: $("k"),
  kRow: $("k-row"),
  overlap: $("overlap"),
  overlapTitle: $("overlap-title"),
  n: $("n"),
  again: $("again"),
});
const files = new Files(store, {
  input: $("file"),
  drop: $("drop"),
  options: $("table-options"),
  note: $("table-note"),
  scale: $("scale"),
  truth: $("truth"),
  columns: { box: $("columns"), title: $("columns-title"), list: $("columns-list") },
  maxBytes: limits.max_bytes,
});
const wishes = new WishControls(store, {
  modes: document.querySelectorAll("[name=k-mode]"),
  numbers: $("k-numbers"),
  low: $("k-low"),
  joint: $("k-joint"),
  high: $("k-high"),
  noise: $("noise"),
});
const address = new Address(store, gallery, replay, presets);

let epoch = store.epoch;
store.addEventListener("change", () => {
  const isBreak = store.epoch !== epoch;
  epoch = store.epoch;
  document.body.dataset.points = store.points.length;
  document.body.dataset.drawing = store.isPlane ? "yes" : "no";
  gallery.ask(isBreak);
  presets.show();
  files.show();
  wishes.show();
  $("undo").disabled = !store.canUndo;
  $("clear").disabled = !store.points.length;
  $("tools").disabled = !store.isPlane;
});
$("undo").addEventListener("click", () => store.undo());
$("clear").addEventListener("click", () => store.load({ kind: "drawn" }, [], []));

for (const radio of document.querySelectorAll("[name=tool]")) {
  radio.addEventListener("change", () => {
    brush.tool = radio.value;
  });
}
$("size").addEventListener("input", () => {
  brush.size = Number($("size").value);
});

function showValues() {
  for (const output of document.querySelectorAll("output[for]")) {
    output.value = $(output.htmlFor.value).value;
  }
}
addEventListener("input", showValues);
addEventListener("shown", showValues);

function setTheme(isDark) {
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  gallery.draw();
}
$("theme").addEventListener("click", () => {
  setTheme(document.documentElement.dataset.theme !== "dark");
});

setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
showValues();
showHelp(limits);
listenToKeys(store, replay);
address.restore();
