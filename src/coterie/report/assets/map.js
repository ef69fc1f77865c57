// Tooltips by mouse and keyboard; everything else works without this script.
(() => {
  const rows = JSON.parse(document.getElementById("rows").textContent);
  const map = document.querySelector(".map");
  const tip = document.querySelector(".tip");
  const ring = map.querySelector(".ring");
  const reach = 22; // distance from a point to the mouse, in units of the drawing
  const byX = rows.x.map((_, i) => i).sort((a, b) => rows.x[a] - rows.x[b]);
  let current = -1;

  document.body.classList.add("live");

  function nearest(x, y) {
    let best = -1;
    let distance = reach * reach;
    for (let i = 0; i < rows.x.length; i++) {
      const d = (rows.x[i] - x) ** 2 + (rows.y[i] - y) ** 2;
      if (d < distance) [best, distance] = [i, d];
    }
    return best;
  }

  function part(name, text) {
    const element = document.createElement(name);
    element.textContent = text;
    return element;
  }

  function grouped(number) {
    return number.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));
  }

  function show(i) {
    current = i;
    tip.hidden = i < 0;
    ring.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    if (i < 0) return;
    ring.setAttribute("cx", rows.x[i]);
    ring.setAttribute("cy", rows.y[i]);
    const list = document.createElement("dl");
    const say = (name, value) => list.append(part("dt", name), part("dd", value));
    const noise = rows.cluster[i] < 0;
    say("cluster", noise ? "none: noise" : naming.nameOf(rows.cluster[i]));
    if (!noise) say("confidence", rows.confidence[i].toFixed(3));
    for (const column of rows.columns) {
      say(column.name, column.grouped ? grouped(column.cells[i]) : column.cells[i]);
    }
    tip.replaceChildren(part("b", "row " + rows.row[i].toLocaleString("en")), list);
    place(i);
  }

  function place(i) {
    const matrix = map.getScreenCTM();
    const frame = tip.parentElement.getBoundingClientRect();
    const x = rows.x[i] * matrix.a + matrix.e - frame.left;
    const y = rows.y[i] * matrix.d + matrix.f - frame.top;
    const left = x + 16 + tip.offsetWidth > frame.width ? x - 16 - tip.offsetWidth : x + 16;
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = Math.max(0, y - tip.offsetHeight / 2) + "px";
  }

  function follow(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    show(nearest(at.x, at.y));
  }

  map.addEventListener("pointermove", follow);
  map.addEventListener("pointerdown", follow);
  map.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") show(-1); });
  map.addEventListener("blur", () => show(-1));
  map.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") show(-1);
    if (!step) return;
    event.preventDefault();
    const at = byX.indexOf(current);
    show(byX[at < 0 ? 0 : Math.min(byX.length - 1, Math.max(0, at + step))]);
  });

  for (const line of document.querySelectorAll(".sizes tr[data-cluster], .told li[data-cluster]")) {
    const pick = (on) => {
      map.classList.toggle("picking", on);
      for (const dots of map.querySelectorAll(`.points [data-cluster="${line.dataset.cluster}"]`)) {
        dots.classList.toggle("picked", on);
      }
    };
    line.addEventListener("pointerenter", () => pick(true));
    line.addEventListener("pointerleave", () => pick(false));
  }
})();
