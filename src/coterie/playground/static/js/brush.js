// Drawing on a canvas with mouse, pen, finger or keys.
import { toCanvas, toWorld } from "./view.js";

const FIRST_DABS = 12;
const DABS = 4;
const TICK = 40; // milliseconds between dabs while the brush is held
const MOVE = 1 / 24; // of the canvas height per press of an arrow key
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// A draw from the normal distribution (Box and Muller).
const normal = () =>
  Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());

export class Brush {
  tool = "brush";
  size = 0.25;

  constructor(store, { limit, onFull }) {
    Object.assign(this, { store, limit, onFull });
  }

  // The eraser's radius and the brush's spread, in data coordinates.
  spread(view) {
    return this.size * (view.halfHeight / 6);
  }

  dab([x, y], view, count) {
    const { store } = this;
    const spread = this.spread(view);
    if (this.tool === "eraser") {
      store.erase((point) => Math.hypot(point[0] - x, point[1] - y) < 2 * spread);
      return;
    }
    const room = this.limit - store.points.length;
    if (room <= 0) {
      this.onFull();
      return;
    }
    const scatter = this.tool === "dot" ? 0 : spread;
    const number = this.tool === "dot" ? 1 : Math.min(count, room);
    const digits = Math.max(0, 3 - Math.floor(Math.log10(view.halfHeight / 6)));
    const near = (value) => Number((value + scatter * normal()).toFixed(Math.min(12, digits)));
    store.add(Array.from({ length: number }, () => [near(x), near(y)]));
  }

  attach(panel) {
    const { canvas } = panel;
    let [at, timer, finger] = [null, null, null];
    const stop = () => {
      clearInterval(timer);
      [at, timer, finger] = [null, null, null];
    };
    // What looked like a stroke is the begin of a pinch.
    const takeBack = () => {
      if (finger === null) return;
      stop();
      this.store.undo();
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (finger !== null && event.pointerType === "touch") takeBack();
      if (event.button !== 0 || !event.isPrimary || !this.store.isPlane) return;
      stop();
      finger = event.pointerId;
      canvas.setPointerCapture(finger);
      panel.cursor = null;
      this.store.mark();
      at = toWorld(panel.view, canvas, event.clientX, event.clientY);
      this.dab(at, panel.view, FIRST_DABS);
      if (this.tool === "brush") timer = setInterval(() => this.dab(at, panel.view, DABS), TICK);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.pointerId !== finger) return;
      const here = toWorld(panel.view, canvas, event.clientX, event.clientY);
      const step = Math.hypot(here[0] - at[0], here[1] - at[1]);
      if (this.tool === "dot" && step < 0.4 * this.spread(panel.view)) return;
      at = here;
      if (this.tool !== "brush") this.dab(at, panel.view, DABS);
    });
    canvas.addEventListener("pointercancel", (event) => {
      if (event.pointerId === finger) takeBack();
    });
    for (const name of ["pointerup", "lostpointercapture"]) {
      canvas.addEventListener(name, (event) => {
        if (event.pointerId === finger) stop();
      });
    }
    this.#attachKeys(panel);
  }

  #attachKeys(panel) {
    const { canvas } = panel;
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const { view } = panel;
      const direction = DIRECTIONS[event.key];
      if (direction) {
        panel.cursor ??= new Cursor(this, view.x, view.y);
        panel.cursor.move(direction, view);
      } else if (event.key === "Enter" || event.key === " ") {
        panel.cursor ??= new Cursor(this, view.x, view.y);
        if (!this.store.isPlane) return;
        this.store.mark();
        this.dab([panel.cursor.x, panel.cursor.y], view, FIRST_DABS);
      } else return;
      event.preventDefault();
      panel.draw();
    });
    canvas.addEventListener("blur", () => {
      panel.cursor = null;
      panel.draw();
    });
  }
}

// The position of the keyboard cursor on the canvas.
class Cursor {
  constructor(brush, x, y) {
    Object.assign(this, { brush, x, y });
  }

  move([right, up], view) {
    const step = 2 * view.halfHeight * MOVE;
    const inside = (value, middle, reach) =>
      Math.min(middle + reach, Math.max(middle - reach, value));
    this.x = inside(this.x + right * step, view.x, (view.halfHeight * 4) / 3);
    this.y = inside(this.y + up * step, view.y, view.halfHeight);
  }

  draw(context, width, height, view, theme) {
    const place = toCanvas(view, width, height);
    const [x, y] = [place.x(this.x), place.y(this.y)];
    context.strokeStyle = theme.cursor;
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(x, y, Math.max(5, 2 * this.brush.spread(view) * place.scale), 0, 2 * Math.PI);
    context.moveTo(x - 4, y);
    context.lineTo(x + 4, y);
    context.moveTo(x, y - 4);
    context.lineTo(x, y + 4);
    context.stroke();
  }
}
