import { expect } from "vitest";
import { seed, summary } from "../long-form.js";
import type { Found } from "./run-mixed.js";
import { sumOf } from "./ways.js";

/** Nothing is lost, nothing is counted twice, and only bad records are given up. */
export function expectExact(title: string, found: readonly Found[], more: object = {}): void {
  const total = {
    seed,
    kills: found.reduce((sum, { report }) => sum + report.kills, 0),
    stops: found.reduce((sum, { report }) => sum + report.stops, 0),
    ...more,
    seconds: Math.max(...found.map(({ report }) => report.seconds)),
    repeated: found.reduce((sum, one) => sum + one.repeated, 0),
    deadLetters: {
      good: found.reduce((sum, one) => sum + one.deadLetters.good, 0),
      bad: found.reduce((sum, one) => sum + one.deadLetters.bad, 0),
    },
    ways: sumOf(found.map(({ ways }) => ways)),
  };
  const said = summary(title, total);
  for (const { missing } of found) expect(Object.values(missing).flat(), said).toEqual([]);
  expect(total.deadLetters.good, said).toBe(0);
  expect(total.deadLetters.bad, said).toBeGreaterThan(0);
  for (const [name, { acknowledged, unexplained, rejected, strays }] of Object.entries(total.ways)) {
    expect({ name, rejected, strays }, said).toEqual({ name, rejected: 0, strays: 0 });
    expect(acknowledged).toBeGreaterThan(0);
    // Data from tail_sampling has no key of its own: see docs/reference/delivery.md.
    if (name !== "sampled") expect({ name, unexplained }, said).toEqual({ name, unexplained: 0 });
  }
}
