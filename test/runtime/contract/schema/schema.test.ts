import { expect, it } from "vitest";
import { z } from "zod";
import { headers, lazySection } from "#contract/schema";

it("makes the schema of a rare section once, when a config has the section", () => {
  let made = 0;
  const schema = z.strictObject({
    limits: lazySection(() => {
      made++;
      return z.strictObject({ records: z.number().default(7) });
    }).optional(),
  });
  expect(schema.parse({})).toEqual({});
  expect(made).toBe(0);
  expect(schema.parse({ limits: null })).toEqual({ limits: { records: 7 } });
  expect(schema.parse({ limits: { records: 1 } })).toEqual({ limits: { records: 1 } });
  expect(schema.safeParse({ limits: { record: 1 } }).success).toBe(false);
  expect(made).toBe(1);
});

it("refuses a list of headers with a name twice, and names the place", () => {
  const list = (...names: string[]) => headers().safeParse(names.map((name) => ({ name, value: "v" })));
  expect(list("x-a", "x-b").data).toEqual({ "x-a": "v", "x-b": "v" });
  const [issue, ...others] = list("x-a", "x-b", "x-a").error?.issues ?? [];
  expect(issue).toMatchObject({ path: [2, "name"], message: "the header x-a is in this list twice" });
  expect(others).toEqual([]);
});
