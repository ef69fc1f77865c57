// The panels, one for each selected method.
import { Panel } from "./panel.js";
import { $ } from "./say.js";

const KINDS = { system: "Ours", peer: "Others" };

export class Gallery extends EventTarget {
  panels = new Map(); // by the name of the method
  #shallPlay = false; // once all panels have results

  constructor(store, methods, brush, replay) {
    super();
    Object.assign(this, { store, methods, brush, replay });
    for (const [kind, title] of Object.entries(KINDS)) {
      $("methods").append(Object.assign(document.createElement("h3"), { textContent: title }));
      const ofKind = methods.filter((method) => method.kind === kind);
      $("methods").append(...ofKind.map((method) => this.#makeChoice(method)));
    }
    replay.addEventListener("frame", () => this.draw());
  }

  get names() {
    return [...this.panels.keys()];
  }

  get #shown() {
    return [...this.panels.values()];
  }

  // Show panels for exactly these methods.
  choose(names) {
    for (const name of this.names.filter((each) => !names.includes(each))) {
      this.panels.get(name).close();
      this.panels.delete(name);
    }
    for (const method of this.methods.filter((each) => names.includes(each.name))) {
      const panel = this.panels.get(method.name) ?? this.#makePanel(method);
      this.panels.delete(method.name); // so that the panels stay in the order of the list
      this.panels.set(method.name, panel);
      $("panels").append(panel.node);
      if (!panel.result) panel.ask(false);
    }
    document.body.dataset.panels = this.panels.size;
    $("empty").hidden = this.panels.size > 0;
    for (const box of this.#boxes()) box.checked = this.panels.has(box.value);
    this.replay.fit(this.#shown);
    this.#paint();
    this.dispatchEvent(new Event("choice"));
  }

  // The points have changed: drawings show the outcome at once, other sets replay the steps.
  ask(isBreak) {
    const isDrawn = this.store.source.kind === "drawn";
    if (isDrawn) this.replay.toEnd();
    this.#shallPlay = !isDrawn && (isBreak || this.#shallPlay);
    document.body.dataset.state = this.panels.size ? "asking" : "done";
    for (const panel of this.#shown) panel.ask(isBreak);
  }

  // Show a step as soon as there are results.
  goTo(frame) {
    this.#shallPlay = false;
    if (document.body.dataset.state === "done") this.replay.go(frame);
    else this.addEventListener("done", () => this.replay.go(frame), { once: true });
  }

  draw() {
    for (const panel of this.#shown) panel.draw();
  }

  #onAnswer() {
    this.replay.fit(this.#shown);
    this.#paint();
    const isDone = this.#shown.every((panel) => panel.runner.isIdle);
    document.body.dataset.state = isDone ? "done" : "asking";
    if (!isDone) return;
    const found = this.#shown.filter((panel) => panel.result);
    $("said").textContent = found
      .map((panel) => `${panel.method.title}: ${panel.result.n_clusters} clusters`)
      .join(", ");
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (this.#shallPlay && !isStill) {
      this.replay.go(0);
      this.replay.start();
    }
    this.#shallPlay = false;
    this.dispatchEvent(new Event("done"));
  }

  // Clusters that share most of their points have the same colour in all panels.
  #paint() {
    const reference = this.#shown.find((panel) => panel.result)?.result.labels;
    for (const panel of this.#shown) panel.paintLike(reference);
    this.draw();
  }

  #makePanel(method) {
    const panel = new Panel(this.store, method, (each) => this.replay.frameOf(each));
    panel.addEventListener("answer", () => this.#onAnswer());
    this.brush.attach(panel);
    return panel;
  }

  #makeChoice(method) {
    const box = document.createElement("input");
    Object.assign(box, { type: "checkbox", value: method.name });
    box.addEventListener("change", () => {
      const checked = this.#boxes().filter((each) => each.checked);
      this.choose(checked.map((each) => each.value));
    });
    const label = Object.assign(document.createElement("label"), { title: method.details });
    label.append(box, method.title);
    return label;
  }

  #boxes() {
    return [...document.querySelectorAll("#methods input")];
  }
}
