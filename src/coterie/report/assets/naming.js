"use strict";
// The names of clusters can be changed where they stand in the summary and above the cards.
const naming = (() => {
  const longest = 60;
  const places = (cluster) => document.querySelectorAll(`[data-name="${cluster}"]`);

  function rename(cluster, text, writing) {
    const given = text.trim().replace(/\s+/g, " ").slice(0, longest);
    const own = given === `Cluster ${cluster}` ? "" : given;
    for (const place of places(cluster)) {
      if (place !== writing) place.textContent = own || place.dataset.default;
    }
  }

  function nameOf(cluster) {
    const place = document.querySelector(`.sizes [data-name="${cluster}"]`);
    return place ? place.textContent : String(cluster);
  }

  function givenName(cluster) {
    const name = nameOf(cluster);
    return name === String(cluster) ? "" : name;
  }

  function open(place) {
    const cluster = place.dataset.name;
    try {
      place.contentEditable = "plaintext-only";
    } catch {
      place.contentEditable = "true"; // where that is not known yet
    }
    place.spellcheck = false;
    place.setAttribute("role", "textbox");
    place.setAttribute("aria-label", `name of cluster ${cluster}`);
    place.addEventListener("input", () => rename(cluster, place.textContent, place));
    place.addEventListener("blur", () => rename(cluster, place.textContent, null));
    place.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      place.blur();
    });
  }

  // What `open` added, so that a downloaded page is as the first one was.
  const added = ["contenteditable", "spellcheck", "role", "aria-label"];
  for (const place of document.querySelectorAll(".told .name, h3 .name")) open(place);
  return { nameOf, givenName, added };
})();
