import { expect, it } from "vitest";
import { parse } from "yaml";
import { batchFromJson } from "../../../src/plugin.js";
import { rateLimit as rateLimitProcessor } from "../../../src/processors/rate-limit/component.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { feed, owed } from "../../support/deliveries.js";
import { FakeClock } from "../../support/fake-clock.js";
import { blocksIn, type Page } from "../pages.js";

function start(example: string) {
  const { processors } = parse(example) as { processors: { rate_limit: object } };
  const clock = new FakeClock();
  const metrics = countedMetrics();
  const own = { id: "rate_limit", kind: "processor", signal: "logs", pipeline: "logs" } as const;
  const context = { ...own, logger: silentLogger, metrics, clock, random: Math.random };
  const { source, out } = feed(
    rateLimitProcessor.create(rateLimitProcessor.schema.parse(processors.rate_limit), context),
  );
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

export function rateLimit(page: Page): void {
  const examples = blocksIn(page, "yaml");

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
    for (const name of names) expect(page.text).toContain(`\`${name}`);
  });

  it("has every key with its default", () => {
    for (const key of ["limit", "window", "burst", "key", "global", "max_keys", "on_excess", "bypass"])
      expect(page.text).toMatch(new RegExp(`^\\| \`${key}\` `, "m"));
  });
}
