import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

interface Figures {
  readonly MARKED: Readonly<Record<string, (cells: readonly object[]) => string>>;
  readonly withFigures: (text: string, make: (cells: readonly object[]) => string, cells: readonly object[]) => string;
}

const script = new URL("../../scripts/pages/ledger-figures.js", import.meta.url).href;
const { MARKED, withFigures } = (await import(script)) as Figures;
const read = (path: string) => readFileSync(join(import.meta.dirname, "../..", path), "utf8");
const { cells } = JSON.parse(read("bench/ledger.json")) as { readonly cells: readonly object[] };

it.each(Object.entries(MARKED))(
  "%s has the figures of the ledger (node scripts/pages/ledger-figures.js)",
  (path, make) => {
    expect(read(path)).toBe(withFigures(read(path), make, cells));
  },
);

it("shows the figures of each version of Node.js", () => {
  const text = "a <!-- ledger: node scripts/pages/ledger-figures.js -->old<!-- end of ledger --> b";
  const some = ["20", "24"].map((node) => ({ name: "16 x 100", kind: "ratio", node, value: 1.5 }));
  const page = withFigures(text, MARKED["docs/reference/performance.md"]!, some);
  expect(page).toContain("Node.js 20:\n\n| cell | CPU / bare |");
  expect(page).toContain("Node.js 24:\n\n");
  expect(page).toContain("| 16 x 100 | 1.5 |");
  expect(page).not.toContain("old");
  expect(withFigures(text, MARKED["README.md"]!, some)).toContain("costs 1.50 times the CPU");
});
