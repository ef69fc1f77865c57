// The controls of what is asked of the clusters: their number, a range of it, noise.
//
// A wish is {k, noise}; k is "4", "2-6", or "" to infer it, as the server takes it.
const whole = (input) => {
  const value = Number(input.value);
  const isGood = Number.isInteger(value) && value >= 1 && value <= Number(input.max);
  input.setAttribute("aria-invalid", !isGood);
  return isGood ? value : null;
};

export class WishControls {
  constructor(store, { modes, numbers, low, joint, high, noise }) {
    Object.assign(this, { store, modes, numbers, low, joint, high, noise });
    for (const control of [...modes, low, high, noise]) {
      control.addEventListener("input", () => this.#read());
    }
    this.show();
  }

  get #mode() {
    return [...this.modes].find((radio) => radio.checked).value;
  }

  #read() {
    this.#arrange();
    const k = this.#k();
    if (k === null) return; // until the number is whole
    this.store.wish({ k, noise: this.noise.checked });
  }

  #k() {
    if (this.#mode === "infer") return "";
    const low = whole(this.low);
    if (this.#mode === "exactly") return low && String(low);
    const high = whole(this.high);
    return low && high && `${Math.min(low, high)}-${Math.max(low, high)}`;
  }

  // Set the controls to the wish, as after a link was opened.
  show() {
    const { k, noise } = this.store.wishes;
    const [low, high] = k.split("-");
    const mode = !k ? "infer" : high ? "between" : "exactly";
    if (k && k !== this.#k()) {
      this.low.value = low;
      if (high) this.high.value = high;
    }
    for (const radio of this.modes) radio.checked = radio.value === mode;
    this.noise.checked = noise;
    this.#arrange();
  }

  #arrange() {
    this.numbers.hidden = this.#mode === "infer";
    this.joint.hidden = this.high.hidden = this.#mode !== "between";
  }
}
