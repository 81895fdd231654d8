import { expect, it } from "vitest";
import { z } from "zod";
import { lazySection } from "#contract/schema";

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
