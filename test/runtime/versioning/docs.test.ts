import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { defineVersioning, type ProcessorFactory } from "../../../src/plugin.js";
import { builtins } from "../../../src/runtime/builtins.js";
import { loadConfig } from "../../../src/runtime/config/load.js";
import { Registry } from "../../../src/runtime/registry.js";
import { countedMetrics } from "../../extensions/reliability/counted-metrics.js";
import { events, run, seen } from "./support.js";

const page = readFileSync("docs/versioning.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map((match) => match[1]!);

const schema = join(mkdtempSync(join(tmpdir(), "sluice-schema-")), "1.27.0.yaml");
writeFileSync(
  schema,
  "file_format: 1.1.0\nschema_url: https://opentelemetry.io/schemas/1.27.0\nversions: {1.27.0: , 1.26.0: }\n",
);
const examples = blocks("yaml").map((text) => text.replace("./schemas/1.27.0.yaml", schema));

describe("docs/versioning.md", () => {
  it.each(examples)("shows a config that loads (%#)", (text) => {
    const registry = new Registry(builtins);
    expect(loadConfig({ sources: [{ text, name: "page.yaml" }], registry }).problems).toEqual([]);
  });

  it("says of its first example what it does, and names all metrics", () => {
    const { versioning } = (parse(examples[0]!) as { processors: { versioning: object } }).processors;
    const metrics = countedMetrics();
    const { going } = run(versioning, events(["order.paid", { sum: "12.50", user: "u-17" }]), metrics);
    expect(seen(going)).toEqual([
      ["order.paid", { amount: 12.5, currency: "EUR", "customer.id": "u-17", "event.version": 3 }],
    ]);
    const names = [...metrics.names].filter((name) => name.startsWith("sluice_versioning"));
    expect(names).toHaveLength(5);
    for (const name of names) expect(page).toContain(`\`${name}\``);
  });

  it("shows an upcaster in code that works", () => {
    const [code] = blocks("js");
    const body = code!.replace(/^import .*$/m, "").replace("export default", "return");
    const factory = new Function("defineVersioning", body)(defineVersioning) as ProcessorFactory;
    expect(factory.type).toBe("shop_versioning");
    const config = /`shop_versioning: (\{.*?\})`/.exec(page)![1]!;
    const { going } = run(parse(config) as object, events(["signup", { name: "Ada Lovelace" }]), undefined, factory);
    expect(seen(going)).toEqual([["signup", { "name.first": "Ada", "name.last": "Lovelace", "event.version": 2 }]]);
  });
});
