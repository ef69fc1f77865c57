// Downloads: this page with the names as they are now, and its tables as CSV.
(() => {
  const data = JSON.parse(document.getElementById("rows").textContent);

  function page() {
    const copy = document.documentElement.cloneNode(true);
    copy.querySelector("body").classList.remove("live");
    for (const place of copy.querySelectorAll(".name")) {
      for (const name of naming.added) place.removeAttribute(name);
    }
    const tip = copy.querySelector(".tip");
    tip.hidden = true;
    tip.replaceChildren();
    tip.removeAttribute("style");
    copy.querySelector(".ring").setAttribute("visibility", "hidden");
    copy.querySelector(".map").classList.remove("picking");
    for (const dots of copy.querySelectorAll(".picked")) dots.classList.remove("picked");
    return `<!doctype html>\n${copy.outerHTML}\n`;
  }

  // A text that a spreadsheet would take for a formula gets an apostrophe.
  function cell(value) {
    let text = String(value);
    if (/^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text))) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv(columns) {
    const heads = columns.map(([name]) => cell(name)).join(",");
    const lines = columns[0][1].map((_, i) => columns.map(([, cells]) => cell(cells[i])).join(","));
    return `\ufeff${[heads, ...lines].join("\r\n")}\r\n`; // the mark tells spreadsheets the encoding
  }

  function rows() {
    return csv([
      ["row", data.row],
      ["cluster", data.cluster],
      ["name", data.cluster.map((cluster) => naming.givenName(cluster))],
      ["confidence", data.confidence],
      ...data.columns.map((column) => [column.name, column.cells]),
    ]);
  }

  function clusters() {
    const { size, confidence } = data.clusters;
    const all = size.reduce((sum, each) => sum + each, data.clusters.outside);
    return csv([
      ["cluster", size.map((_, cluster) => cluster)],
      ["name", size.map((_, cluster) => naming.givenName(cluster))],
      ["rows", size],
      ["share", size.map((each) => (each / all).toFixed(4))],
      ["confidence", confidence],
      ...data.medians.map((column) => [column.name, column.cells]),
    ]);
  }

  const file = decodeURIComponent(location.pathname.split("/").pop());
  const kinds = {
    page: { make: page, type: "text/html", name: /\.html?$/i.test(file) ? file : "report.html" },
    clusters: { make: clusters, type: "text/csv", name: "clusters.csv" },
    rows: { make: rows, type: "text/csv", name: "rows.csv" },
  };
  for (const button of document.querySelectorAll("[data-download]")) {
    button.addEventListener("click", () => {
      const { make, type, name } = kinds[button.dataset.download];
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([make()], { type: `${type};charset=utf-8` }));
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    });
  }
})();
