// Play, pause and the step slider, for all panels at once. A panel with fewer steps than another
// shows its outcome while the other continues.
const BEAT = 900; // milliseconds per step

export class Replay extends EventTarget {
  frame = 0;
  last = 0;
  #timer = null;

  constructor({ play, back, forward, slider, name }) {
    super();
    Object.assign(this, { play, back, forward, slider, name });
    play.addEventListener("click", () => this.toggle());
    back.addEventListener("click", () => this.step(-1));
    forward.addEventListener("click", () => this.step(1));
    slider.addEventListener("input", () => {
      const wanted = Number(slider.value); // before pausing resets it
      this.pause();
      this.go(wanted);
    });
    this.#show();
  }

  get isPlaying() {
    return this.#timer !== null;
  }

  get isAtEnd() {
    return this.frame >= this.last;
  }

  // The frame stored in a link; null for the outcome.
  get shared() {
    return this.isAtEnd ? null : this.frame;
  }

  frameOf(panel) {
    return this.isAtEnd ? panel.lastFrame : Math.min(this.frame, panel.lastFrame);
  }

  // The panels have new results; if the outcome was shown, it stays shown.
  fit(panels) {
    const wasAtEnd = this.isAtEnd;
    this.panels = panels;
    this.last = Math.max(0, ...panels.map((panel) => panel.lastFrame));
    this.frame = wasAtEnd ? this.last : Math.min(this.frame, this.last);
    this.#show();
  }

  go(frame) {
    this.frame = Math.min(this.last, Math.max(0, frame));
    this.#show();
    this.dispatchEvent(new Event("frame"));
  }

  step(by) {
    this.pause();
    this.go(this.frame + by);
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.start();
  }

  start() {
    if (!this.last) return;
    if (this.isAtEnd) this.go(0);
    clearInterval(this.#timer);
    this.#timer = setInterval(() => {
      this.go(this.frame + 1);
      if (this.isAtEnd) this.pause();
    }, BEAT);
    this.#show();
  }

  pause() {
    clearInterval(this.#timer);
    this.#timer = null;
    this.#show();
  }

  toEnd() {
    this.pause();
    this.go(this.last);
  }

  #show() {
    const { slider, frame, last } = this;
    slider.max = Math.max(1, last);
    slider.value = last ? frame : 1;
    for (const control of [slider, this.play, this.back, this.forward]) control.disabled = !last;
    this.play.firstElementChild.textContent = this.isPlaying ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", this.isPlaying ? "Pause" : "Play");
    this.name.textContent = this.#inWords();
    slider.setAttribute("aria-valuetext", this.name.textContent);
  }

  #inWords() {
    if (!this.last) return "";
    if (this.isAtEnd) return "outcome";
    if (!this.frame) return "before the first step";
    const steps = this.panels.find((panel) => panel.lastFrame === this.last).result.steps;
    const step = steps[this.frame - 1];
    return `step ${this.frame} of ${steps.length}: takes ${step.claimed.length} of ${step.offered.length}`;
  }
}
