// Keyboard shortcuts of the whole page.
const TOOLS = { b: "brush", d: "dot", e: "eraser" };
const TYPING = "input:not([type=range], [type=radio], [type=checkbox]), select, textarea";

export function listenToKeys(store, replay) {
  addEventListener("keydown", (event) => {
    const hasCommand = event.ctrlKey || event.metaKey;
    if (hasCommand && event.key === "z") {
      event.preventDefault();
      store.undo();
    }
    if (hasCommand || event.altKey || event.target.matches(TYPING)) return;
    if (event.key in TOOLS) document.querySelector(`[value=${TOOLS[event.key]}]`).click();
    else if (event.key === "p") replay.toggle();
    else if (event.key === ",") replay.step(-1);
    else if (event.key === ".") replay.step(1);
  });
}
