// Requests the clusters of one panel from the server, one request at a time, always for the latest
// points. Changes during a request trigger another one; results for points that were erased or
// replaced since are dropped.
import { cluster } from "./api.js";

const PAUSE = 15; // milliseconds to wait for more of the stroke

export class Runner {
  #asking = null;
  #timer = null;
  #isDirty = false;

  constructor(store, method, { onAnswer, onFault, onBusy }) {
    Object.assign(this, { store, method, onAnswer, onFault, onBusy });
  }

  get isIdle() {
    return !this.#asking && !this.#timer && !this.#isDirty;
  }

  ask() {
    if (this.#asking && this.#asking.epoch !== this.store.epoch) this.#drop();
    if (this.#asking) {
      this.#isDirty = true;
      return;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#send();
    }, PAUSE);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#drop();
  }

  #drop() {
    this.#asking?.control.abort();
    this.#asking = null;
    this.#isDirty = false;
  }

  async #send() {
    const { store } = this;
    if (!store.points.length) {
      this.onBusy(false);
      this.onAnswer(null);
      return;
    }
    const question = { epoch: store.epoch, control: new AbortController() };
    this.#asking = question;
    this.onBusy(true);
    const start = performance.now();
    let [answer, fault] = [null, null];
    try {
      answer = await cluster(
        this.method.name,
        { points: store.points, truth: store.knownTruth, wishes: store.wishes },
        question.control.signal,
      );
    } catch (error) {
      fault = error;
    }
    if (this.#asking !== question) return; // superseded by a newer request
    this.#asking = null;
    this.onBusy(false);
    if (question.epoch === store.epoch) {
      if (fault) this.onFault(fault.message);
      else this.onAnswer({ ...answer, roundTrip: performance.now() - start });
    }
    if (this.#isDirty || question.epoch !== store.epoch) {
      this.#isDirty = false;
      this.ask();
    }
  }
}
