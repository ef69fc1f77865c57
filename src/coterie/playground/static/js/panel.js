// The panel of a method: picture, results and downloads.
import { saveCode, saveLabels, savePicture } from "./downloads.js";
import { matchColours } from "./palette.js";
import { THEMES, drawPicture, lastFrame } from "./picture.js";
import { Runner } from "./runner.js";

const element = (tag, settings = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), settings);
  made.append(...children);
  return made;
};

const inWords = (seconds) =>
  seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : `${seconds.toFixed(1)} s`;

export class Panel extends EventTarget {
  result = null;
  fault = null;
  numbers = [];
  cursor = null;
  #isDue = false;

  constructor(store, method, frameOf) {
    super();
    Object.assign(this, { store, method, frameOf });
    this.#build();
    this.runner = new Runner(store, method, {
      onAnswer: (result) => this.#show(result, null),
      onFault: (fault) => this.#show(null, fault),
      onBusy: (isBusy) => this.node.setAttribute("aria-busy", isBusy),
    });
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.canvas);
  }

  get lastFrame() {
    return lastFrame(this.result);
  }

  get view() {
    return this.store.view;
  }

  // Request a clustering; the old result stays visible unless the points were replaced.
  ask(isBreak) {
    if (isBreak) {
      this.result = null;
      this.fault = null;
      this.#say();
    }
    this.runner.ask();
    this.draw();
  }

  close() {
    this.runner.stop();
    this.watcher.disconnect();
    this.node.remove();
  }

  paintLike(reference) {
    this.numbers = this.result ? matchColours(this.result.labels, reference) : [];
  }

  draw() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#paint();
    });
  }

  #paint() {
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    if (canvas.width !== Math.round(width * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.hint.hidden = this.store.points.length > 0;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawPicture(context, width, height, this.scene());
    if (this.cursor) this.cursor.draw(context, width, height, this.view, this.scene().theme);
  }

  scene() {
    const { store, result, numbers } = this;
    const theme = THEMES[document.documentElement.dataset.theme] ?? THEMES.light;
    return {
      plane: store.plane,
      axes: store.axes,
      view: this.view,
      result,
      numbers,
      theme,
      frame: this.frameOf(this),
    };
  }

  #show(result, fault) {
    Object.assign(this, { result, fault });
    this.#say();
    this.dispatchEvent(new Event("answer"));
    this.draw();
  }

  #say() {
    const { result, fault, stats, node } = this;
    this.faultLine.textContent = fault ?? "";
    this.faultLine.hidden = !fault;
    for (const button of this.buttons) button.disabled = !result;
    stats.replaceChildren();
    this.note.textContent = "";
    node.dataset.clusters = result ? result.n_clusters : "";
    node.dataset.points = result ? result.labels.length : "";
    node.dataset.roundTrip = result ? result.roundTrip.toFixed(1) : "";
    if (!result) return;
    const k = result.n_clusters;
    stats.append(
      element("span", {}, element("b", { textContent: k }), k === 1 ? " cluster" : " clusters"),
    );
    const noise = result.labels.filter((label) => label < 0).length;
    if (noise) {
      stats.append(
        element(
          "span",
          { title: "points that belong to no cluster" },
          element("b", { textContent: noise.toLocaleString("en") }),
          " noise",
        ),
      );
    }
    if (result.ari !== null) {
      stats.append(
        element(
          "span",
          { title: "adjusted Rand index; 1 is a perfect match with the truth" },
          "ARI ",
          element("b", { textContent: result.ari.toFixed(2) }),
        ),
      );
    }
    stats.append(
      element("span", {
        textContent: inWords(result.seconds),
        title: `${Math.round(result.roundTrip)} ms including the round trip to the server`,
      }),
    );
    this.note.textContent = result.warnings[0] ?? (result.steps ? "" : "no steps to replay");
  }

  #build() {
    const { method } = this;
    this.stats = element("div", { className: "stats" });
    this.canvas = element("canvas", { tabIndex: 0 });
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute(
      "aria-label",
      `Canvas of ${method.title}: arrow keys move, Enter draws`,
    );
    this.hint = element("p", {
      className: "hint",
      textContent: "Draw points here, choose a preset, or drop a CSV file on the page.",
      hidden: true,
    });
    this.note = element("span");
    this.faultLine = element("p", { className: "fault", hidden: true });
    this.faultLine.setAttribute("role", "alert");
    const button = (name, title, act) =>
      element("button", { type: "button", textContent: name, title, disabled: true, onclick: act });
    this.buttons = [
      button("Labels", "The points with their clusters, as CSV", () =>
        saveLabels(this.store, this.result),
      ),
      button("Picture", "This panel as PNG", () => savePicture(this.scene(), method)),
      button("Python", "An equivalent Python program", () => saveCode(this.store, this.result)),
    ];
    this.node = element(
      "article",
      { className: "panel" },
      element(
        "header",
        {},
        element("h3", { textContent: method.title, title: method.details }),
        this.stats,
      ),
      element("div", { className: "canvas" }, this.canvas, this.hint),
      element("footer", {}, this.note, ...this.buttons),
      this.faultLine,
    );
    this.node.dataset.method = method.name;
  }
}
