// The choice of the columns to cluster by, as a list of checkboxes.
import { say } from "./say.js";

export class ColumnChoice {
  constructor({ box, title, list }, onChoice) {
    Object.assign(this, { box, title, list, onChoice });
    list.addEventListener("change", (event) => {
      const chosen = this.#boxes().filter((each) => each.checked);
      if (chosen.length) {
        this.onChoice(chosen.map((each) => each.value));
        return;
      }
      event.target.checked = true;
      say("choose at least one column to cluster by");
    });
  }

  // Show the columns that can be chosen, and which are.
  show(choices, chosen) {
    this.box.hidden = choices.length < 2;
    this.title.textContent = `clustered by ${chosen.length} of ${choices.length} columns`;
    const isSame = this.#boxes().map((each) => each.value).join("\n") === choices.join("\n");
    if (!isSame) this.list.replaceChildren(...choices.map((name) => this.#choice(name)));
    for (const each of this.#boxes()) each.checked = chosen.includes(each.value);
  }

  #choice(name) {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", value: name });
    const label = document.createElement("label");
    label.append(box, name || "(no name)");
    return label;
  }

  #boxes() {
    return [...this.list.querySelectorAll("input")];
  }
}
