import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { defineVersioning, type ProcessorFactory } from "../../../src/plugin.js";
import { countedMetrics } from "../../extensions/reliability/counted-metrics.js";
import { events, run, seen } from "./support.js";

const page = readFileSync("docs/versioning.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map((match) => match[1]!);

const examples = blocks("yaml");

describe("docs/versioning.md", () => {
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
