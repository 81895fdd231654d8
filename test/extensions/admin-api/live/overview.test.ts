import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  Alerts,
  EXPORTER_RULES,
  MAX_DEAD_LETTER_AGE_S,
  MAX_DEAD_LETTERS,
  MAX_LAG,
  MAX_QUEUE_AGE_S,
  RECEIVER_RULES,
} from "../../../../src/extensions/admin-api/live/alerts.js";
import { overviewOf } from "../../../../src/extensions/admin-api/live/overview.js";
import type { Admin, ExporterStatus } from "../../../../src/runtime/contract/operations/admin.js";
import type { ReceiverStatus } from "../../../../src/runtime/contract/operations/receiver-status.js";
import { deadLetter } from "../../../runtime/queue/operate/controls.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { startApi } from "../harness.js";
import { undescribed } from "../openapi-document.js";

const MINUTE = 60_000;

function exporter(changes: Partial<ExporterStatus> = {}): ExporterStatus {
  const amount = { entries: 0, items: 0, bytes: 0, oldestAt: undefined };
  return {
    id: "a",
    state: "UP",
    paused: false,
    breaker: { state: "closed", forced: false, since: 0 },
    queue: { enabled: true, inFlight: 0, ...amount },
    deadLetters: amount,
    lastSentAt: undefined,
    lastError: undefined,
    failureRate: 0,
    recentCalls: 0,
    failureTrend: "steady",
    replayRate: 1,
    ...changes,
  };
}

function hostOf(exporters: readonly ExporterStatus[], receivers: readonly ReceiverStatus[] = []) {
  return { admin: { exporters: () => exporters } as unknown as Admin, receivers: () => receivers };
}

describe("alerts", () => {
  it("fire when their condition holds for as long as the rule demands, and end with it", () => {
    const clock = new FakeClock();
    const exporters = [exporter()];
    const alerts = new Alerts(hostOf(exporters), clock);
    expect(alerts.check()).toEqual([]);
    exporters[0] = exporter({ paused: true });
    const [pending] = alerts.check();
    expect(pending).toMatchObject({ name: "SluiceExporterPaused", state: "pending", target: "a", since: clock.now() });
    clock.advance(30 * MINUTE);
    expect(alerts.check()).toEqual([{ ...pending, state: "firing" }]);
    exporters[0] = exporter();
    expect(alerts.check()).toEqual([]);
    exporters[0] = exporter({ paused: true });
    expect(alerts.check()[0]?.state).toBe("pending");
  });

  it("know since when a breaker is open, and put what is critical first", () => {
    const clock = new FakeClock();
    clock.advance(60 * MINUTE);
    const since = clock.now() - 5 * MINUTE;
    const many = { entries: MAX_DEAD_LETTERS + 1, items: 0, bytes: 0, oldestAt: clock.now() - 40 * MINUTE };
    const status = exporter({ breaker: { state: "open", forced: false, since }, deadLetters: many });
    const found = new Alerts(hostOf([status]), clock).check();
    expect(found.map(({ name, state }) => [name, state])).toEqual([
      ["SluiceBreakerOpen", "firing"],
      ["SluiceDeadLetters", "pending"],
      ["SluiceDeadLettersOld", "pending"],
    ]);
    expect(found[0]!.since).toBe(since);
  });

  it("are those of packaging/prometheus/alerts.yaml, with its severities, times and limits", () => {
    const file = parse(readFileSync("packaging/prometheus/alerts.yaml", "utf8")) as {
      groups: { rules: { alert: string; expr: string; for?: string; labels: { severity: string } }[] }[];
    };
    const written = new Map(file.groups.flatMap(({ rules }) => rules.map((rule) => [rule.alert, rule])));
    for (const { name, severity, forMs } of [...EXPORTER_RULES, ...RECEIVER_RULES])
      expect([name, written.get(name)?.labels.severity, written.get(name)?.for]).toEqual([
        name,
        severity,
        `${forMs / MINUTE}m`,
      ]);
    const limits = {
      SluiceQueueOld: MAX_QUEUE_AGE_S,
      SluiceDeadLetters: MAX_DEAD_LETTERS,
      SluiceDeadLettersOld: MAX_DEAD_LETTER_AGE_S,
      SluiceReceiverLags: MAX_LAG,
    };
    for (const [name, limit] of Object.entries(limits)) expect(written.get(name)?.expr).toContain(` > ${limit}`);
  });
});

describe("the overview", () => {
  it("has the worst state, the oldest entry, and why something is not well", () => {
    const queue = { enabled: true, inFlight: 0, entries: 1, items: 5, bytes: 100 };
    const lastError = { at: 0, class: "ECONNREFUSED", message: "" };
    const open = { state: "open", forced: false, since: 0 } as const;
    const exporters = [
      exporter({ queue: { ...queue, oldestAt: 2000 } }),
      exporter({ id: "b", state: "DOWN", breaker: open, lastError, queue: { ...queue, oldestAt: 1000 } }),
      exporter({ id: "c", state: "DEGRADED", paused: true }),
      exporter({ id: "d", state: "DEGRADED", failureRate: 0.5, recentCalls: 4, lastError }),
      exporter({
        id: "e",
        state: "DEGRADED",
        deadLetters: { entries: 12_345, items: 0, bytes: 0, oldestAt: 0 },
        queue: { ...queue, entries: 0, items: 0, bytes: 0, oldestAt: undefined },
      }),
    ];
    const receiver = { id: "r", state: "DEGRADED", reconnects: 0, down: ["orders"] } as const;
    const { state, exporters: counts, receivers, queue: waiting } = overviewOf(hostOf(exporters, [receiver]), []);
    expect(state).toBe("DOWN");
    expect(counts).toMatchObject({ total: 5, up: 1, degraded: 3, down: 1 });
    expect(counts.unwell.map(({ id, why }) => `${id}: ${why}`)).toEqual([
      "b: its breaker is open (ECONNREFUSED)",
      "c: it is paused",
      "d: 50 % of its sends fail (ECONNREFUSED)",
      "e: it has 12,345 dead letters",
    ]);
    expect(receivers.unwell).toEqual([{ id: "r", state: "DEGRADED", why: "it cannot read orders" }]);
    expect(waiting).toEqual({ entries: 2, items: 10, bytes: 200, oldestAt: 1000, oldestOf: "b" });
  });

  it("is answered as it is described", async () => {
    const { ask, a } = await startApi();
    await deadLetter(a);
    await ask("POST", "/exporters/a/pause", {});
    const { status, body } = await ask("GET", "/overview");
    expect([status, undescribed(body, "Overview")]).toEqual([200, []]);
    expect(body).toMatchObject({ exporters: { total: 2 }, deadLetters: { entries: 1 } });
    expect(body.alerts[0]).toMatchObject({ name: "SluiceExporterPaused", state: "pending", target: "a" });
    expect(body.alerts[0].since).toMatch(/^\d{4}-/);
  });
});
