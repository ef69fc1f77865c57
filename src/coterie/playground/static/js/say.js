// A message shown over the page for a while.
const SHOWN = 6000; // milliseconds
let timer = null;

export const $ = (id) => document.getElementById(id);

export function say(sentence) {
  const toast = $("toast");
  toast.textContent = sentence;
  toast.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => {
    toast.hidden = true;
  }, SHOWN);
}

export const grouped = (number) => number.toLocaleString("en");
