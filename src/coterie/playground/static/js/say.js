// A message over the page. It stays until it is dismissed, or until there is another one.
export const $ = (id) => document.getElementById(id);

export function say(sentence) {
  $("toast-text").textContent = sentence;
  $("toast").hidden = false;
}

const dismiss = () => {
  $("toast").hidden = true;
};

$("toast-close").addEventListener("click", dismiss);
addEventListener("keydown", (event) => {
  if (event.key === "Escape") dismiss();
});

export const grouped = (number) => number.toLocaleString("en");
