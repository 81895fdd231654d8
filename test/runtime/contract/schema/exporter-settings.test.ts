import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FAILURE_CATEGORIES } from "../../../../src/runtime/contract/operations/failure-reasons.js";
import { loadText, withExporter } from "../../config/load-text.js";

describe("the times of categories of dead letters", () => {
  const problemsOf = (times: string) =>
    loadText(withExporter("debug", `dead_letter: {retention_by_category: {${times}}}`)).problems;

  it("are refused for a misspelt category, with a suggestion", () => {
    expect(problemsOf("schema: 1h, busines: 2h, Downstream-Timeout: 3h")).toMatchObject([
      {
        severity: "error",
        path: "exporters.debug.dead_letter.retention_by_category.busines",
        message: expect.stringContaining('there is no category "busines"; did you mean "business"?'),
      },
      { message: expect.stringContaining('did you mean "downstream_timeout"?') },
    ]);
  });

  it("are taken for every category there is, and for those of plugins", () => {
    expect(problemsOf([...FAILURE_CATEGORIES, "order_without_id"].map((name) => `${name}: 1h`).join())).toEqual([]);
  });

  it("know all categories that are given", () => {
    const source = join(import.meta.dirname, "../../../../src");
    const given = readdirSync(source, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => [...readFileSync(join(source, name), "utf8").matchAll(/\bcategory: "(\w+)"/g)])
      .map(([, category]) => category!);
    // "text" is what kind of key the filter of the admin interface has.
    const others = [...new Set(given)].filter((name) => !FAILURE_CATEGORIES.some((each) => each === name));
    expect(others).toEqual(["text"]);
  });
});
