import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { recordFromLine } from "../../../../src/agent/embed/pino/record-from-line.js";
import type { LogInput } from "../../../../src/index.js";
import { bodies } from "../../../support/telemetry/batches.js";
import { ACCEPTED, cleanUp, INTO_KEPT, keeper, keptLog, logRecords, metric, REFUSED, started } from "../support.js";

afterEach(cleanUp);

/** Returns the record that a logger's line becomes. */
function recordOf(log: (logger: pino.Logger) => void, options: pino.LoggerOptions = {}): LogInput {
  const lines: string[] = [];
  log(pino({ level: "trace", ...options }, { write: (line: string) => void lines.push(line) }));
  return recordFromLine(lines[0]!);
}

describe("a line of pino", () => {
  it("is a log record with OpenTelemetry's names", () => {
    const before = Date.now();
    const record = recordOf((logger) => logger.child({ user: { id: 7 } }).warn({ order: 42 }, "order %s", "paid"), {
      name: "shop",
    });
    expect(record).toEqual({
      severity: "warn",
      severityNumber: 13,
      timestamp: expect.any(Number),
      body: "order paid",
      attributes: {
        "process.pid": process.pid,
        "host.name": expect.any(String),
        "logger.name": "shop",
        user: { id: 7 },
        order: 42,
      },
    });
    expect(record.timestamp).toBeGreaterThanOrEqual(before);
  });

  it("reports an error as OpenTelemetry does", () => {
    const error = Object.assign(new RangeError("too far"), { code: "FAR" });
    expect(recordOf((logger) => logger.error(error)).attributes).toMatchObject({
      "exception.type": "RangeError",
      "exception.message": "too far",
      "exception.stacktrace": expect.stringContaining("too far"),
      err: { code: "FAR" },
    });
    expect(recordOf((logger) => logger.error({ err: "just text" })).attributes).toMatchObject({ err: "just text" });
  });

  it("leads to its trace", () => {
    const ids = { trace_id: "0af7651916cd43dd8448eb211c80319c", span_id: "b7ad6b7169203331", trace_flags: "01" };
    expect(recordOf((logger) => logger.info(ids, "x"))).toMatchObject({ traceId: ids.trace_id, spanId: ids.span_id });
  });

  it("keeps its level with custom levels", () => {
    const levels = [10, 20, 30, 35, 40, 50, 60, 90, 5];
    const numbers = levels.map((level) => recordFromLine(JSON.stringify({ level })).severityNumber);
    expect(numbers).toEqual([1, 5, 9, 11, 13, 17, 21, 24, 1]);
    const named = recordOf((logger) => logger.info("x"), { formatters: { level: (level) => ({ level }) } });
    expect(named.severity).toBe("info");
    const iso = recordOf((logger) => logger.info("x"), { timestamp: pino.stdTimeFunctions.isoTime });
    expect(Math.abs(Number(iso.timestamp) - Date.now())).toBeLessThan(60_000);
  });

  it("has its time in seconds, and keeps what is no time, no level and no trace", () => {
    const seconds = recordOf((logger) => logger.info("x"), { timestamp: pino.stdTimeFunctions.unixTime });
    expect(Math.abs(Number(seconds.timestamp) - Date.now())).toBeLessThan(60_000);
    const odd = recordFromLine('{"level":null,"time":"yesterday","trace_id":7,"msg":"x"}');
    expect(odd).toEqual({ body: "x", attributes: { level: null, time: "yesterday" }, traceId: 7 });
  });

  it("keeps fields of any name", () => {
    const { attributes } = recordFromLine('{"constructor":1,"__proto__":2,"toString":{"__proto__":3}}');
    expect(Object.entries(attributes!)).toEqual([
      ["constructor", 1],
      ["__proto__", 2],
      ["toString", JSON.parse('{"__proto__":3}')],
    ]);
  });

  it("is its text when it is no JSON", () => {
    for (const line of ["plain text", "[1]", "null", ""]) expect(recordFromLine(line)).toEqual({ body: line });
  });
});

describe("pinoDestination", () => {
  it("takes pino's lines in the same thread", async () => {
    const { batches, components } = keeper();
    const sluice = await started({ config: INTO_KEPT, components });
    const logger = pino(sluice.pinoDestination());
    for (let i = 0; i < 10; i++) logger.info({ i }, "line");
    await new Promise((resolve) => logger.flush(resolve));
    expect(logRecords(batches)).toHaveLength(10);
    logger.info("last");
    await sluice.stop();
    expect(batches.flatMap(bodies).at(-1)).toBe("last");
  });

  it("knows what pino was told to call things", async () => {
    const { batches, components } = keeper();
    const sluice = await started({ config: INTO_KEPT, components });
    const options = { messageKey: "message", errorKey: "error", customLevels: { audit: 35 }, base: null };
    const logger = pino(options, sluice.pinoDestination());
    logger.audit(new RangeError("too far"), "paid");
    await sluice.stop();
    const [record] = logRecords(batches);
    expect(record).toMatchObject({ body: { stringValue: "paid" }, severityText: "audit", severityNumber: 11 });
    const keys = (record!["attributes"] as { key: string }[]).map(({ key }) => key);
    expect(keys).toEqual(["exception.type", "exception.message", "exception.stacktrace"]);
  });

  it("counts and reports every line that a stuck backend leaves no room for", async () => {
    const { lines, logger: log } = keptLog();
    const { components } = keeper(() => new Promise(() => {}));
    const config = { ...INTO_KEPT, service: { ...INTO_KEPT.service, intake: { max_bytes: "10KiB" } } };
    const sluice = await started({ config, components, logger: log });
    const logger = pino(sluice.pinoDestination());
    for (let i = 0; i < 100; i++) logger.info("x".repeat(500));
    await sluice.stop(0);
    expect(metric(sluice, ACCEPTED) + metric(sluice, REFUSED)).toBe(100);
    expect(lines.join()).toContain("SLUICE_OVERLOADED");
  });

  it("survives a Sluice that logs into itself", async () => {
    const sluices: { pinoDestination(): { write(line: string): void } }[] = [];
    const logger = pino({ level: "warn" }, { write: (line) => sluices[0]?.pinoDestination().write(line) });
    const { components } = keeper(async () => {
      throw new Error("down");
    });
    const sluice = await started({ config: INTO_KEPT, components, logger });
    sluices.push(sluice);
    await sluice.logs.emit({ body: "x" });
    await expect.poll(() => metric(sluice, REFUSED)).toBeGreaterThanOrEqual(2);
  });
});
