// Tables that are dropped on the page or opened in the file dialog.
import { readTable } from "./api.js";
import { grouped, say } from "./say.js";
import { viewOf } from "./view.js";

const USUAL_TRUTHS = ["truth", "label", "labels", "class", "target", "species", "true_label"];

export class Files {
  #text = null;

  constructor(store, { input, drop, options, note, scale, truth, maxBytes }) {
    Object.assign(this, { store, options, note, scale, truth, maxBytes });
    input.addEventListener("change", () => {
      this.open(input.files[0]);
      input.value = "";
    });
    scale.addEventListener("change", () => this.#read());
    truth.addEventListener("change", () => this.#read());
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
    const text = await file.text();
    const opened = { text, file: file.name, scale: this.scale.value };
    let table = await this.#ask({ ...opened, truth: "" });
    const usual = table?.names.find((name) => USUAL_TRUTHS.includes(name.toLowerCase())) ?? "";
    if (usual) table = await this.#ask({ ...opened, truth: usual });
    if (!table) return;
    [this.#text, this.file] = [text, file.name];
    this.#load(table, { ...opened, truth: usual });
  }

  // Read the open table again, with the truth and the scaling that are chosen now.
  async #read() {
    const settings = {
      text: this.#text,
      file: this.file,
      truth: this.truth.value,
      scale: this.scale.value,
    };
    const table = await this.#ask(settings);
    if (table) this.#load(table, settings);
  }

  // The table as the server reads it; null, with a message, if it cannot be read.
  async #ask({ text, file, truth, scale }) {
    try {
      return await readTable(text, { truth, scale });
    } catch (error) {
      say(`${file}: ${error.message}`);
      return null;
    }
  }

  #load(table, settings) {
    this.truth.replaceChildren(
      new Option("unknown", ""),
      ...table.names.map((name) => new Option(name, name)),
    );
    this.truth.value = settings.truth;
    const source = {
      kind: "table",
      names: table.names,
      columns: table.columns,
      leftOut: table.left_out,
      notes: table.notes,
      ...settings,
    };
    const plane = table.columns.length === 2 ? table.points : table.plane;
    this.store.load(source, table.points, table.truth, { plane, view: viewOf(plane) });
  }

  // Describe the table on the canvas.
  show() {
    const { source, points } = this.store;
    const isOurs = source.kind === "table" && source.file === this.file;
    this.options.hidden = !isOurs;
    if (!isOurs) return;
    this.scale.value = source.scale;
    this.truth.value = source.truth;
    const left = source.leftOut
      .filter(({ name }) => name !== source.truth)
      .map(({ name, reason }) => `${name || "(no name)"} (${reason})`);
    const parts = [`${grouped(points.length)} rows, columns ${source.columns.join(", ")}`];
    if (left.length) parts.push(`dropped: ${left.join(", ")}`);
    parts.push(...source.notes);
    this.note.textContent = `${source.file}: ${parts.join("; ")}`;
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
