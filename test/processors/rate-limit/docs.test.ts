import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { batchFromJson } from "../../../src/plugin.js";
import { rateLimit } from "../../../src/processors/rate-limit/rate-limit.js";
import { silentLogger } from "../../../src/runtime/kit.js";
import { countedMetrics } from "../../extensions/reliability/counted-metrics.js";
import { feed, owed } from "../../support/deliveries.js";
import { FakeClock } from "../../support/fake-clock.js";

const page = readFileSync("docs/rate-limit.md", "utf8");
const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => match[1]!);

function start(example: string) {
  const { processors } = parse(example) as { processors: { rate_limit: object } };
  const clock = new FakeClock();
  const metrics = countedMetrics();
  const own = { id: "rate_limit", kind: "processor", signal: "logs", pipeline: "logs" } as const;
  const context = { ...own, logger: silentLogger, metrics, clock, random: Math.random };
  const { source, out } = feed(rateLimit.create(rateLimit.schema.parse(processors.rate_limit), context));
  const pass = (eventName: string, count: number, severityNumber = 9) => {
    const logRecords = Array.from({ length: count }, () => ({ eventName, severityNumber }));
    out.length = 0;
    source.next(
      owed(batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }))).delivery,
    );
    return out.find(({ setback }) => setback === undefined)?.batch.count ?? 0;
  };
  return { pass, clock, metrics };
}

describe("docs/rate-limit.md", () => {
  it("says of its first example what it does", () => {
    const { pass, clock } = start(examples[0]!);
    expect(pass("a", 2000)).toBe(1500);
    expect(pass("b", 2000)).toBe(1500);
    expect(pass("a", 100, 17)).toBe(100);
    expect(pass("audit.login", 5000)).toBe(5000);
    clock.advance(1000);
    expect(pass("a", 2000)).toBe(1000);
  });

  it("names all metrics", () => {
    const { metrics } = start(examples[0]!);
    const names = [...metrics.names].filter((name) => name.startsWith("sluice_rate_limit"));
    expect(names).toHaveLength(4);
    for (const name of names) expect(page).toContain(`\`${name}\``);
  });

  it("has every key with its default", () => {
    for (const key of ["limit", "window", "burst", "key", "global", "max_keys", "on_excess", "bypass"])
      expect(page).toMatch(new RegExp(`^\\| \`${key}\` `, "m"));
  });
});
