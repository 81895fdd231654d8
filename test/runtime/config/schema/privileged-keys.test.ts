import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { privilegedValues } from "../../../../src/runtime/config/schema/privileged-keys.js";
import { visitKeys } from "../../../../src/runtime/config/schema/visit-schema.js";
import { metaOf, valueKinds } from "../../../../src/runtime/config/schema/zod-schema.js";
import { configSchema } from "../../../../src/runtime/contract/schema/config-schema.js";
import { builtins } from "../../../support/builtins.js";

/** Keys with these names may name a program, a file to write, or who may use the agent. */
const SUSPICIOUS =
  /(^|_)(command|script|program|binary|executable|plugins?|socket|path|paths|file|files|filename|folder|dir|directory|tokens?|inline|issuer_url)$/;

interface Key {
  readonly name: string;
  readonly schema: z.ZodType;
}

const keys: readonly Key[] = builtins.flatMap(({ type, schema }) =>
  visitKeys(configSchema(schema), (path, each) => ({ name: `${type}.${path}`, schema: each })),
);

const isMarked = ({ schema }: Key) => metaOf(schema).privileged === true || metaOf(schema).harmless === true;
const isSuspicious = ({ name, schema }: Key) => {
  const { ignored, unsupported, deprecated, format } = metaOf(schema);
  if (ignored !== undefined || unsupported !== undefined || deprecated === true) return false;
  const takesText = [...valueKinds(schema)].some((kind) => kind === "string" || kind === "any" || kind === "list");
  const last = name.split(".").at(-1)!.replace("[]", "");
  return takesText && (format === "path" || SUSPICIOUS.test(last));
};

describe("privileged keys", () => {
  it("are told from harmless ones in all schemas, by a mark on each key that could be one", () => {
    const unmarked = keys.filter((key) => isSuspicious(key) && !isMarked(key)).map(({ name }) => name);
    const inside = (name: string) => keys.some((key) => isMarked(key) && name.startsWith(`${key.name}.`));
    expect(unmarked.filter((name) => !inside(name))).toEqual([]);
    expect(keys.filter(({ schema }) => metaOf(schema).privileged).length).toBeGreaterThan(15);
  });

  it("are listed in the docs", () => {
    const page = readFileSync(new URL("../../../../docs/components/extensions/opamp.md", import.meta.url), "utf8");
    const privileged = keys.filter(({ schema }) => metaOf(schema).privileged === true);
    const names = privileged.map(({ name }) => name.replaceAll("[]", ""));
    const outer = names.filter((name) => !names.some((other) => name.startsWith(`${other}.`)));
    expect(outer.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it("are found as they are written, in any case, in lists and maps", () => {
    const path = z.string().meta({ privileged: true });
    const schema = z.strictObject({ path, list: z.array(z.strictObject({ path })), free: z.record(z.string(), path) });
    const written = { PATH: "a", list: [{ path: "b" }, {}], free: { x: "c" }, other: { path: "d" } };
    expect([...privilegedValues(schema, written)]).toEqual([
      ["path", { key: "path", value: "a" }],
      ["list.0.path", { key: "list.path", value: "b" }],
      ["free.x", { key: "free.x", value: "c" }],
    ]);
  });

  it("are all keys of a component whose schema is not known", () => {
    expect([...privilegedValues(configSchema(undefined), { a: 1 })]).toEqual([["", { key: "", value: { a: 1 } }]]);
  });
});
