import { expect, it } from "vitest";
import { parse } from "yaml";
import { defineVersioning, type ProcessorFactory } from "../../../src/plugin.js";
import { events, run, seen } from "../../processors/versioning/support.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { blocksIn, type Page } from "../pages.js";

export function versioning(page: Page): void {
  it("says of its first example what it does, and names all metrics", () => {
    const [example] = blocksIn(page, "yaml");
    const { processors } = parse(example!) as { processors: { versioning: object } };
    const metrics = countedMetrics();
    const { going } = run(processors.versioning, events(["order.paid", { sum: "12.50", user: "u-17" }]), metrics);
    expect(seen(going)).toEqual([
      ["order.paid", { amount: 12.5, currency: "EUR", "customer.id": "u-17", "event.version": 3 }],
    ]);
    const names = [...metrics.names].filter((name) => name.startsWith("sluice_versioning"));
    expect(names).toHaveLength(5);
    for (const name of names) expect(page.text).toContain(`\`${name}`);
  });

  it("shows an upcaster in code that works", () => {
    const [code, ...others] = blocksIn(page, "js");
    expect(others).toEqual([]);
    const body = code!.replace(/^import .*$/m, "").replace("export default", "return");
    const factory = new Function("defineVersioning", body)(defineVersioning) as ProcessorFactory;
    expect(factory.type).toBe("shop_versioning");
    const config = /`shop_versioning: (\{.*?\})`/.exec(page.text)![1]!;
    const { going } = run(parse(config) as object, events(["signup", { name: "Ada Lovelace" }]), undefined, factory);
    expect(seen(going)).toEqual([["signup", { "name.first": "Ada", "name.last": "Lovelace", "event.version": 2 }]]);
  });
}
