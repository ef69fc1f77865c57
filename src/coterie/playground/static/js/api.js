// Requests to the server. A 4xx response becomes an Error with the server's message.
async function ask(address, settings = {}) {
  let answer;
  try {
    answer = await fetch(address, settings);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the server does not respond; is it still running?");
  }
  if (answer.ok) return answer.json();
  const detail = await answer.json().then(
    (body) => body.detail,
    () => null,
  );
  throw new Error(detail ?? `the server responded with ${answer.status}`);
}

export const methods = () => ask("api/methods");
export const presets = () => ask("api/presets");
export const limits = () => ask("api/limits");

export const drawPreset = ({ name, n, k, overlap, seed }) =>
  ask(`api/presets/${name}?${new URLSearchParams({ n, k, overlap, seed })}`);

// columns: those to cluster by, all numeric ones if there are none.
export const readTable = (text, { truth, scale, columns = [] }) =>
  ask(`api/table?${parameters({ truth, scale }, columns)}`, {
    method: "POST",
    headers: { "Content-Type": "text/csv" },
    body: text,
  });

export const cluster = (method, { points, truth, wishes }, signal) =>
  ask(`api/cluster?${new URLSearchParams({ method, steps: true, ...wishes })}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ points, truth }),
    signal,
  });

function parameters(single, columns) {
  const made = new URLSearchParams(single);
  for (const name of columns) made.append("columns", name);
  return made;
}
