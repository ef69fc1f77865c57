// Keeps the address of the page in sync with its state.
import { readTable } from "./api.js";
import { decode, encode } from "./link.js";
import { $, say } from "./say.js";
import { viewOf } from "./view.js";

const PAUSE = 300; // milliseconds without a change before the address is updated

// The names of the columns; numbers would not be taken for names.
const headerOf = (points, columns) =>
  columns?.some((name) => Number.isNaN(Number(name)))
    ? columns.map((name) => `"${name.replaceAll('"', '""')}"`)
    : points[0].map((_, i) => `x${i + 1}`);

export class Address {
  #timer = null;

  constructor(store, gallery, replay, presets) {
    Object.assign(this, { store, gallery, replay, presets });
    for (const source of [store, gallery, replay]) {
      for (const name of ["change", "choice", "frame"]) {
        source.addEventListener(name, () => this.#followSoon());
      }
    }
    $("share").addEventListener("click", () => this.#share());
    addEventListener("hashchange", () => this.restore());
  }

  // Restore the state from the address, or show the initial state.
  async restore() {
    try {
      await this.#show(this.#read());
    } catch (error) {
      say(error.message);
    }
  }

  #read() {
    try {
      return decode(location.hash);
    } catch {
      say("this link is damaged; showing the initial page");
      return null;
    }
  }

  async #show(found) {
    const { gallery, presets } = this;
    const start = gallery.methods.find((method) => method.initial) ?? gallery.methods[0];
    if (found) this.store.wishes = found.wishes; // which count when the points are there
    gallery.choose(found ? found.methods : [start.name]);
    if (!found || found.preset) {
      if (found) presets.choose(found.preset.name, found.preset);
      await presets.draw();
    } else if (found.points.length) {
      await this.#load(found);
    }
    if (found && found.frame !== null) gallery.goTo(found.frame);
  }

  async #load({ points, truth, columns }) {
    const source = { kind: "drawn", columns };
    if (points[0].length === 2 && !columns) {
      this.store.load(source, points, truth);
      return;
    }
    const turn = this.store.intend();
    const text = [headerOf(points, columns), ...points].map((row) => row.join(",")).join("\n");
    const table = await readTable(text, { truth: "", scale: "none" });
    if (!this.store.isStill(turn)) return;
    const plane = table.is_own ? points : table.plane;
    this.store.load(source, points, truth, { plane, view: viewOf(plane), axes: table.axes });
  }

  #followSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#follow(), PAUSE);
  }

  // Whether the points fit into an address.
  #follow() {
    const { store, gallery, replay } = this;
    const hash = encode(store, gallery.names, replay.isPlaying ? null : replay.shared);
    history.replaceState(null, "", hash ?? location.pathname);
    return hash !== null;
  }

  async #share() {
    this.replay.pause();
    if (!this.#follow()) {
      say("too many points for a link; share the file instead");
      return;
    }
    try {
      await navigator.clipboard.writeText(location.href);
      say("link copied; it restores the points, the methods and the step");
    } catch {
      say("the link is in the address bar; copy it from there");
    }
  }
}
