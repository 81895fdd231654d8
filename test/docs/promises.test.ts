import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { LETTERS, letterOf, PAGE_FILE, promisesPage, readTests } from "../acceptance/report/page.js";
import { ROW_NUMBERS } from "../acceptance/rows.js";

/** Set by `npm run acceptance -- --write`. */
if (process.env["WRITE_PROMISES"] !== undefined) writeFileSync(PAGE_FILE, promisesPage());

describe("docs/reference/promises.md", () => {
  it("is what the rows, the titles of their tests and the last results say", () => {
    expect(readFileSync(PAGE_FILE, "utf8")).toBe(promisesPage());
  });
});

describe("the rows", () => {
  const tests = readTests();

  it("have tests", () => {
    expect([...new Set(tests.map(({ number }) => number))].sort()).toEqual([...ROW_NUMBERS].sort());
  });

  it("are tested in the files of their letter", () => {
    expect(tests.filter(({ file, number }) => letterOf(file) !== number[0])).toEqual([]);
  });

  it("have letters with names, in the order of the page", () => {
    const letters = ROW_NUMBERS.map((number) => number[0]!);
    expect([...new Set(letters)]).toEqual(Object.keys(LETTERS));
  });
});
