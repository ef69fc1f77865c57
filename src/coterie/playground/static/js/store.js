// The points on the canvas, their source, and undo.
//
// points: what is clustered, (n, d); plane: where they are drawn, (n, 2), the same array if d = 2;
// truth: their true clusters, -1 if unknown; axes: the names of the directions of the plane, if any;
// wishes: what is asked of the clusters. `epoch` counts the changes that invalidate earlier results;
// points appended at the end do not. `view` is constant while drawing, so that nothing moves below
// the brush.
import { WORLD } from "./view.js";

const UNDO_DEPTH = 60;

export class Store extends EventTarget {
  points = [];
  plane = this.points;
  truth = [];
  source = { kind: "drawn" };
  view = WORLD;
  axes = null;
  wishes = { k: "", noise: false };
  epoch = 0;
  #turn = 0;
  #past = [];

  get isPlane() {
    return this.plane === this.points;
  }

  get knownTruth() {
    return this.truth.some((cluster) => cluster >= 0) ? this.truth : null;
  }

  // A ticket for points that are still to come: whatever changes the points meanwhile voids it.
  intend() {
    this.#turn += 1;
    return this.#turn;
  }

  isStill(turn) {
    return turn === this.#turn;
  }

  // Ask something else of the same points.
  wish(wishes) {
    this.wishes = wishes;
    this.#changed(true);
  }

  // Save the state for undo.
  mark() {
    const { points, plane, truth, source, view, axes } = this;
    const copy = [...points];
    this.#past.push({
      points: copy,
      plane: plane === points ? copy : plane,
      truth: [...truth],
      source,
      view,
      axes,
    });
    if (this.#past.length > UNDO_DEPTH) this.#past.shift();
  }

  load(source, points, truth, { plane = points, view = WORLD, axes = null } = {}) {
    this.intend();
    if (this.points.length) this.mark();
    truth ??= points.map(() => -1);
    Object.assign(this, { source, points, plane, view, axes, truth });
    this.#changed(true);
  }

  add(points) {
    if (!points.length) return;
    this.intend();
    this.#becomesDrawn();
    this.points.push(...points);
    this.truth.push(...points.map(() => -1));
    this.#changed(false);
  }

  erase(isHit) {
    const kept = this.points.map((point) => !isHit(point));
    if (kept.every(Boolean)) return;
    this.intend();
    this.#becomesDrawn();
    this.points = this.plane = this.points.filter((_, i) => kept[i]);
    this.truth = this.truth.filter((_, i) => kept[i]);
    this.#changed(true);
  }

  undo() {
    const past = this.#past.pop();
    if (!past) return;
    this.intend();
    Object.assign(this, past);
    this.#changed(true);
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  #becomesDrawn() {
    if (this.source.kind === "drawn") return;
    this.source = { kind: "drawn", columns: this.source.columns };
  }

  #changed(isBreak) {
    if (isBreak) this.epoch += 1;
    this.dispatchEvent(new Event("change"));
  }
}
