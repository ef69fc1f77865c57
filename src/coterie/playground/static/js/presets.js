// The preset buttons and their sliders.
import { drawPreset } from "./api.js";
import { say } from "./say.js";

export class Presets {
  #chosen = null;

  constructor(store, known, { buttons, k, kRow, overlap, overlapTitle, n, again }) {
    Object.assign(this, { store, known, buttons, k, kRow, overlap, overlapTitle, n });
    this.seed = 0;
    for (const preset of known) {
      const button = Object.assign(document.createElement("button"), {
        type: "button",
        textContent: preset.title,
      });
      button.dataset.preset = preset.name;
      button.addEventListener("click", () => {
        this.choose(preset.name);
        this.draw();
      });
      buttons.append(button);
    }
    for (const slider of [k, overlap, n]) slider.addEventListener("input", () => this.draw());
    again.addEventListener("click", () => {
      this.seed = Math.floor(Math.random() * 1e6);
      this.draw();
    });
    this.choose(known[0].name);
  }

  // Set the sliders to the ranges of a preset, and to its initial values unless given.
  choose(name, settings = {}) {
    const preset = this.known.find((each) => each.name === name) ?? this.known[0];
    this.#chosen = preset;
    this.kRow.hidden = !preset.k;
    if (preset.k)
      Object.assign(this.k, {
        min: preset.k.lowest,
        max: preset.k.highest,
        value: settings.k ?? preset.k.start,
      });
    Object.assign(this.overlap, {
      min: preset.overlap.lowest,
      max: preset.overlap.highest,
      value: settings.overlap ?? preset.overlap.start,
    });
    this.overlapTitle.textContent = preset.overlap.title;
    if (settings.n) this.n.value = settings.n;
    if (settings.seed !== undefined) this.seed = settings.seed;
    this.n.dispatchEvent(new Event("shown", { bubbles: true }));
  }

  async draw() {
    const turn = this.store.intend();
    const settings = {
      name: this.#chosen.name,
      k: Number(this.k.value),
      overlap: Number(this.overlap.value),
      n: Number(this.n.value),
      seed: this.seed,
    };
    try {
      const { points, truth } = await drawPreset(settings);
      if (this.store.isStill(turn)) this.store.load({ kind: "preset", ...settings }, points, truth);
    } catch (error) {
      say(error.message);
    }
  }

  show() {
    const { source } = this.store;
    for (const button of this.buttons.children) {
      button.setAttribute(
        "aria-pressed",
        source.kind === "preset" && source.name === button.dataset.preset,
      );
    }
  }
}
