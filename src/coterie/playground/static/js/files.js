// Tables that are dropped on the page or opened in the file dialog.
//
// The source of a table in the store holds its text, how it is read (truth, scale, chosen columns;
// none for all), the columns that can be chosen, and what the server told of it.
import { readTable } from "./api.js";
import { ColumnChoice } from "./columns.js";
import { grouped, say } from "./say.js";
import { viewOf } from "./view.js";

const USUAL_TRUTHS = ["truth", "label", "labels", "class", "target", "species", "true_label"];
const NAMED = 6; // columns that are listed by name

export class Files {
  constructor(store, { input, drop, options, note, scale, truth, columns, maxBytes }) {
    Object.assign(this, { store, options, note, scale, truth, maxBytes });
    this.choice = new ColumnChoice(columns, (chosen) => this.#change({ chosen }));
    input.addEventListener("change", () => {
      this.open(input.files[0]);
      input.value = "";
    });
    scale.addEventListener("change", () => this.#change({ scale: scale.value }));
    truth.addEventListener("change", () => this.#change({ truth: truth.value, chosen: [] }));
    this.#attachDrop(drop);
  }

  async open(file) {
    if (!file) return;
    if (file.size > this.maxBytes) {
      say(
        `${file.name} has ${grouped(file.size)} bytes; this server allows ${grouped(this.maxBytes)}`,
      );
      return;
    }
    const turn = this.store.intend();
    const opened = { text: await file.text(), file: file.name, scale: this.scale.value };
    let settings = { ...opened, truth: "", chosen: [] };
    let table = await this.#ask(settings);
    const choices = table?.columns;
    const usual = table?.names.find((name) => USUAL_TRUTHS.includes(name.toLowerCase()));
    if (usual) {
      settings = { ...settings, truth: usual };
      table = await this.#ask(settings);
    }
    if (table && this.store.isStill(turn)) this.#load(table, { ...settings, choices });
  }

  // Read the table on the canvas in another way.
  async #change(settings) {
    const turn = this.store.intend();
    const { text, file, truth, scale, chosen, choices } = this.store.source;
    const wanted = { text, file, truth, scale, chosen, choices, ...settings };
    const possible = choices.filter((name) => name !== wanted.truth);
    if (possible.every((name) => wanted.chosen.includes(name))) wanted.chosen = [];
    const table = await this.#ask(wanted);
    if (!this.store.isStill(turn)) return;
    if (table) this.#load(table, wanted);
    else this.show();
  }

  // The table as the server reads it; null, with a message, if it cannot be read.
  async #ask({ text, file, truth, scale, chosen }) {
    try {
      return await readTable(text, { truth, scale, columns: chosen });
    } catch (error) {
      say(`${file}: ${error.message}`);
      return null;
    }
  }

  #load(table, settings) {
    const { names, columns, left_out: leftOut, notes, axes } = table;
    const source = { kind: "table", names, columns, leftOut, notes, ...settings };
    const plane = table.is_own ? table.points : table.plane;
    this.store.load(source, table.points, table.truth, { plane, view: viewOf(plane), axes });
  }

  // Describe the table on the canvas.
  show() {
    const { source, points } = this.store;
    this.options.hidden = source.kind !== "table";
    if (source.kind !== "table") return;
    this.truth.replaceChildren(
      new Option("unknown", ""),
      ...source.names.map((name) => new Option(name, name)),
    );
    this.scale.value = source.scale;
    this.truth.value = source.truth;
    this.choice.show(
      source.choices.filter((name) => name !== source.truth),
      source.columns,
    );
    this.note.textContent = `${source.file}: ${inWords(source, points.length)}`;
  }

  #attachDrop(drop) {
    let depth = 0;
    const isFile = (event) => event.dataTransfer?.types.includes("Files");
    addEventListener("dragenter", (event) => {
      if (isFile(event)) {
        depth += 1;
        drop.hidden = false;
      }
    });
    addEventListener("dragleave", (event) => {
      if (isFile(event)) {
        depth -= 1;
        drop.hidden = depth <= 0;
      }
    });
    addEventListener("dragover", (event) => {
      if (isFile(event)) event.preventDefault();
    });
    addEventListener("drop", (event) => {
      if (!isFile(event)) return;
      event.preventDefault();
      depth = 0;
      drop.hidden = true;
      this.open(event.dataTransfer.files[0]);
    });
  }
}

function inWords({ columns, leftOut, notes, truth, choices }, count) {
  const shown = columns.slice(0, NAMED).join(", ");
  const more = columns.length > NAMED ? ` and ${columns.length - NAMED} more` : "";
  const dropped = leftOut
    .filter(({ name }) => name !== truth && !choices.includes(name))
    .map(({ name, reason }) => `${name || "(no name)"} (${reason})`);
  const parts = [`${grouped(count)} rows, columns ${shown}${more}`];
  if (dropped.length) parts.push(`dropped: ${dropped.join(", ")}`);
  return [...parts, ...notes].join("; ");
}
