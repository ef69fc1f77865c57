// The help dialog: keys, API, limits.
import { $, grouped } from "./say.js";

export function showHelp(limits) {
  const address = `${location.origin}/api/cluster`;
  $("curl").textContent = [
    `curl ${address} -H 'Content-Type: application/json' \\`,
    `  -d '{"points": [[0.1, 0.2], [0.0, 0.1], [4.1, 4.0]]}'`,
    "",
    `curl ${address} -H 'Content-Type: text/csv' \\`,
    "  --data-binary @table.csv",
  ].join("\n");
  $("limits").textContent =
    `This server allows ${grouped(limits.max_points)} points of ${limits.max_columns} columns` +
    ` and ${limits.seconds} s per clustering.`;
  $("about").addEventListener("click", () => $("about-box").showModal());
}
