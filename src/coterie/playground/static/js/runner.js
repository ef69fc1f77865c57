// Asks the server for the clusters of one panel: one question at a time, always the latest. What
// changed while an answer was on its way is asked next; an answer to points that were erased or
// replaced since is dropped.
import { cluster } from "./api.js";

const PAUSE = 15; // milliseconds to wait for more of the same stroke

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
        store.points,
        store.knownTruth,
        question.control.signal,
      );
    } catch (error) {
      fault = error;
    }
    if (this.#asking !== question) return; // dropped, something newer is on its way
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
