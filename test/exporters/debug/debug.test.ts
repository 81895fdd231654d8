import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DebugExporter, debugExporter } from "../../../src/exporters/debug/component.js";
import { elapsedText, timeText, valueText } from "../../../src/exporters/debug/values.js";
import { Batch, batchFromJson, type Signal } from "../../../src/plugin.js";
import { runs } from "../../support/runs.js";
import { exporterContext, never, temporaryDirectory } from "../support.js";

const TIME = "1700000000123456789";
const TIME_TEXT = "2023-11-14T22:13:20.123456789Z";
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const resource = { attributes: [text("service.name", "shop")] };
const scope = { name: "http", version: "1.0" };

const requests = {
  logs: (...logRecords: object[]) => ({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] }),
  traces: (...spans: object[]) => ({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] }),
  metrics: (...metrics: object[]) => ({ resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] }),
};

function batch(signal: Signal, ...items: object[]): Batch {
  return batchFromJson(signal, JSON.stringify(requests[signal](...items)));
}

class Page extends Writable {
  text = "";

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

function exporterTo(stream: Writable, written: object, now = Date.now): DebugExporter {
  const clock = { now, monotonic: now, after: () => () => {} };
  return new DebugExporter(debugExporter.schema.parse(written) as never, exporterContext({ clock }), [stream]);
}

async function shown(verbosity: string, ...batches: Batch[]): Promise<string> {
  const page = new Page();
  const exporter = exporterTo(page, { verbosity });
  for (const one of batches) await exporter.send(one, never);
  return page.text;
}

describe("basic", () => {
  test("is one line a batch with its counts", async () => {
    const number = { name: "m", gauge: { dataPoints: [{ asInt: "1" }, { asInt: "2" }] } };
    const logs = batch("logs", { severityNumber: 9 }, {});
    const twice = Batch.merge([logs, logs]);
    const page = await shown(
      "basic",
      twice,
      batch("traces", {}),
      batch("metrics", number, number),
      Batch.empty("logs"),
    );
    expect(page.split("\n")).toEqual([
      `logs: 4 log records from 2 resources, ${twice.byteLength} bytes`,
      expect.stringMatching(/^traces: 1 span from 1 resource, \d+ bytes$/),
      expect.stringMatching(/^metrics: 2 metrics, 4 data points from 1 resource, \d+ bytes$/),
      "logs: 0 log records from 0 resources, 0 bytes",
      "",
    ]);
  });
});

describe("normal", () => {
  test("is one line a log record", async () => {
    const page = await shown(
      "normal",
      batch(
        "logs",
        {
          timeUnixNano: TIME,
          severityNumber: 17,
          body: { stringValue: "two\nlines" },
          attributes: [{ key: "n", value: { intValue: "9007199254740993" } }, text("note", "a b")],
          traceId: TRACE,
          spanId: SPAN,
        },
        { observedTimeUnixNano: TIME, severityText: "Notice", eventName: "start" },
      ),
    );
    expect(page.split("\n")).toEqual([
      `${TIME_TEXT} ERROR shop two\\nlines n=9007199254740993 note="a b" trace=${TRACE} span=${SPAN}`,
      `${TIME_TEXT} Notice shop start (no body)`,
      "",
    ]);
  });

  test("is one line a span", async () => {
    const times = { startTimeUnixNano: TIME, endTimeUnixNano: "1700000000135801789" };
    const ids = { traceId: TRACE, spanId: SPAN, parentSpanId: SPAN };
    const status = { code: 2, message: "too late" };
    const page = await shown(
      "normal",
      batch(
        "traces",
        { ...times, ...ids, name: "GET /", kind: 2, status, events: [{}, {}], links: [{}] },
        { name: "open" },
      ),
    );
    expect(page.split("\n")).toEqual([
      `${TIME_TEXT} ERROR shop GET / 12.345ms too late server events=2 links=1 trace=${TRACE} span=${SPAN} parent=${SPAN}`,
      "(no time)                      -     shop open (not ended)",
      "",
    ]);
  });

  test("is one line a data point, of every kind of metric", async () => {
    const at = { timeUnixNano: TIME };
    const page = await shown(
      "normal",
      batch(
        "metrics",
        {
          name: "requests",
          unit: "{r}",
          sum: {
            aggregationTemporality: 2,
            isMonotonic: true,
            dataPoints: [
              { ...at, asInt: "9223372036854775807", attributes: [text("m", "GET")] },
              { ...at, flags: 1 },
            ],
          },
        },
        { name: "cpu", unit: "1", gauge: { dataPoints: [{ ...at, asDouble: 0.42 }] } },
        {
          name: "took",
          unit: "ms",
          histogram: { aggregationTemporality: 1, dataPoints: [{ ...at, count: "5", sum: 12.5, min: 1, max: 9 }] },
        },
        { name: "size", exponentialHistogram: { dataPoints: [{ ...at, count: "3", scale: 4 }] } },
        {
          name: "gc",
          summary: { dataPoints: [{ ...at, count: "2", sum: 3, quantileValues: [{ quantile: 0.99, value: 2 }] }] },
        },
        { name: "none", gauge: {} },
      ),
    );
    expect(page.split("\n")).toEqual([
      `${TIME_TEXT} sum       shop requests = 9223372036854775807 {r} cumulative monotonic m=GET`,
      `${TIME_TEXT} sum       shop requests = (no value) cumulative monotonic`,
      `${TIME_TEXT} gauge     shop cpu = 0.42`,
      `${TIME_TEXT} histogram shop took = count=5 sum=12.5 min=1 max=9 ms delta`,
      `${TIME_TEXT} exp.hist  shop size = count=3`,
      `${TIME_TEXT} summary   shop gc = count=2 sum=3 p99=2`,
      "(no time)                      gauge     shop none (no data points)",
      "",
    ]);
  });

  test("cuts a huge body and says by how much", async () => {
    const page = await shown("normal", batch("logs", { body: { stringValue: "x".repeat(1_001_000) } }));
    expect(page).toMatch(/ x{1000}… \(\+1,000,000 characters\)\n$/);
  });
});

describe("detailed", () => {
  test("shows every field under its resource and scope", async () => {
    const page = await shown(
      "detailed",
      batch("logs", {
        timeUnixNano: TIME,
        observedTimeUnixNano: TIME,
        severityNumber: 10,
        severityText: "Info",
        body: { stringValue: "first\nsecond" },
        attributes: [text("a.b", "c")],
        droppedAttributesCount: 3,
        flags: 1,
        traceId: TRACE,
        spanId: SPAN,
        eventName: "login",
      }),
    );
    expect(page.split("\n").slice(1)).toEqual([
      "Resource 1",
      "  attributes:",
      '    service.name: "shop"',
      "  Scope http 1.0",
      "    Log record 1",
      `      time:                     ${TIME_TEXT}`,
      `      observed time:            ${TIME_TEXT}`,
      "      severity number:          INFO2 (10)",
      "      severity text:            Info",
      "      body:",
      "        first",
      "        second",
      "      dropped attributes count: 3",
      "      flags:                    1",
      `      trace id:                 ${TRACE}`,
      `      span id:                  ${SPAN}`,
      "      event name:               login",
      "      attributes:",
      '        a.b: "c"',
      "",
    ]);
  });

  test("shows every value in its line, with escapes for what a terminal might interpret", async () => {
    const attributes = [
      text("plain", "GET /api"),
      text('quo"ted', 'a "b" \\ c'),
      text("über", "ä\u202e\u007f"),
      { key: "big", value: { intValue: "-9223372036854775808" } },
      { key: "small", value: { intValue: "51324" } },
      { key: "half", value: { doubleValue: 0.5 } },
      { key: "whole", value: { doubleValue: 3 } },
      { key: "yes", value: { boolValue: true } },
      { key: "list", value: { arrayValue: { values: [{ stringValue: "a" }, { intValue: "2" }] } } },
      { key: "none", value: {} },
      text("long", "x".repeat(16_383)),
    ];
    const page = await shown("detailed", batch("logs", { body: { stringValue: 'say "hi"' }, flags: 257, attributes }));
    expect(page.split("\n").slice(6)).toEqual([
      '      body:  say "hi"',
      "      flags: 257",
      "      attributes:",
      '        plain: "GET /api"',
      '        quo"ted: "a \\"b\\" \\\\ c"',
      '        über: "ä\\u202e\\u007f"',
      "        big: -9223372036854775808",
      "        small: 51324",
      "        half: 0.5",
      "        whole: 3.0",
      "        yes: true",
      '        list: ["a", 2]',
      "        none: (empty)",
      `        long: "${"x".repeat(16_383)}… (+1 characters)`,
      "",
    ]);
  });

  test("has the same text with and without colours", async () => {
    const one = batch("traces", {
      name: "a",
      status: { code: 2 },
      attributes: [text("k", "v")],
      events: [{ name: "e" }],
    });
    const terminal = Object.assign(new Page(), { isTTY: true, hasColors: () => true });
    await exporterTo(terminal, { verbosity: "detailed" }).send(one, never);
    expect(terminal.text).toContain("\u001b[2mk:\u001b[0m");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours
    expect(terminal.text.replace(/\u001b\[\d+m/g, "")).toBe(await shown("detailed", one));
  });

  test("shows many records in several writes, in order", async () => {
    const records = Array.from({ length: 2000 }, (_, i) => ({ body: { stringValue: `record ${i}` } }));
    let writes = 0;
    const page = new Page();
    const exporter = exporterTo(page, { verbosity: "detailed" });
    const write = page._write.bind(page);
    page._write = (chunk, encoding, done) => {
      writes++;
      write(chunk, encoding, done);
    };
    await exporter.send(batch("logs", ...records), never);
    expect(page.text.match(/(?<=body: )record \d+$/gm)).toEqual(records.map((_, i) => `record ${i}`));
    expect(writes).toBeGreaterThan(1);
  });

  test("shows spans with their events, links and status", async () => {
    const page = await shown(
      "detailed",
      batch("traces", {
        name: "GET /",
        kind: 3,
        traceState: "a=b",
        status: { code: 2, message: "too late" },
        events: [{ name: "exception", attributes: [text("exception.type", "E")] }],
        links: [{ traceId: TRACE }],
      }),
    );
    for (const part of [
      "kind:        client (3)",
      "trace state: a=b",
      "code:    error (2)",
      "message: too late",
      "Event 1",
      "name: exception",
      'exception.type: "E"',
      "Link 1",
      `trace id: ${TRACE}`,
    ]) {
      expect(page).toContain(part);
    }
  });

  test("shows points with buckets, quantiles and exemplars", async () => {
    const exemplars = [{ asInt: "-1", traceId: TRACE }];
    const page = await shown(
      "detailed",
      batch(
        "metrics",
        { name: "h", histogram: { dataPoints: [{ bucketCounts: ["1", "2"], explicitBounds: [0.5], exemplars }] } },
        {
          name: "e",
          exponentialHistogram: { dataPoints: [{ scale: -3, positive: { offset: -2, bucketCounts: ["7"] } }] },
        },
        { name: "s", summary: { dataPoints: [{ quantileValues: [{ quantile: 0.5, value: 4 }] }] } },
      ),
    );
    for (const part of [
      "bucket counts:   [1, 2]",
      "explicit bounds: [0.5]",
      "Exemplar 1",
      "value:    -1",
      "scale: -3",
      "offset:        -2",
      "Quantile 1",
      "quantile: 0.5",
    ]) {
      expect(page).toContain(part);
    }
  });
});

describe("values", () => {
  test.each<[object, string]>([
    [{ stringValue: 'say "hi"' }, '"say \\"hi\\""'],
    [{ intValue: 2n ** 63n - 1n }, "9223372036854775807"],
    [{ intValue: 0n }, "0"],
    [{ doubleValue: 2 }, "2.0"],
    [{ doubleValue: 0.1 }, "0.1"],
    [{ doubleValue: Number.NaN }, "NaN"],
    [{ boolValue: false }, "false"],
    [{ bytesValue: Uint8Array.of(0, 1, 255) }, "0x0001ff (3 bytes)"],
    [{ arrayValue: { values: [{ stringValue: "a" }, { intValue: 2n }] } }, '["a", 2]'],
    [{ kvlistValue: { values: [{ key: "k", value: { boolValue: true } }] } }, "{k: true}"],
    [{ arrayValue: {} }, "[]"],
    [{}, "(empty)"],
  ])("%o is %s", (value, expected) => {
    expect(valueText(value as never, 100)).toBe(expected);
  });

  test("of every size are cut to what a person can read", () => {
    const values = Array.from({ length: 100_000 }, () => ({ stringValue: "x".repeat(50) }));
    expect(valueText({ arrayValue: { values } }, 200).length).toBeLessThan(300);
    expect(valueText({ bytesValue: new Uint8Array(1_000_000) }, 200).length).toBeLessThan(300);
    expect(valueText({ stringValue: "😀".repeat(1000) }, 101)).not.toMatch(/\\ud83d/);
  });

  test.each<[bigint, string]>([
    [17n, "17ns"],
    [250_000n, "250µs"],
    [12_345_000n, "12.345ms"],
    [1_500_000_000n, "1.5s"],
    [-2_000_000n, "-2ms"],
  ])("a duration of %s nanoseconds is %s", (nanos, expected) => {
    expect(elapsedText(nanos)).toBe(expected);
  });

  test("times keep every nanosecond", () => {
    expect(timeText(1n)).toBe("1970-01-01T00:00:00.000000001Z");
    expect(timeText(2n ** 64n - 1n)).toBe("2554-07-21T23:34:33.709551615Z");
    expect(timeText(0n)).toBeUndefined();
  });
});

test("nothing in telemetry reaches the terminal as a control character", async () => {
  const dirty = fc.string({
    unit: fc.constantFrom("\u001b[2J", "\u009b", "\u0007", "\r", "\u202e", "\u0000", "a", "\u007f"),
  });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom("normal", "detailed"), dirty, async (verbosity, evil) => {
      const attributes = [text(evil, evil), { key: "l", value: { arrayValue: { values: [{ stringValue: evil }] } } }];
      const page = await shown(
        verbosity,
        batch("logs", { body: { stringValue: evil }, severityText: evil, eventName: evil, attributes }),
        batch("traces", { name: evil, traceState: evil, status: { code: 2, message: evil }, attributes }),
        batch("metrics", {
          name: evil,
          unit: evil,
          description: evil,
          gauge: { dataPoints: [{ asInt: "1", attributes }] },
        }),
      );
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not appear
      expect(page).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }),
    runs(20),
  );
});

describe("colours", () => {
  test.each([
    [{ isTTY: true, hasColors: () => true }, true],
    [{ isTTY: true, hasColors: () => false }, false],
    [{}, false],
  ])("on a stream %o: %s", async (terminal, coloured) => {
    const page = Object.assign(new Page(), terminal);
    await exporterTo(page, {}).send(batch("logs", {}), never);
    expect(page.text.includes("\u001b[")).toBe(coloured);
  });
});

describe("a stream that is slow or gone", () => {
  test("is written to at its own pace, one batch after the other", async () => {
    let release: (() => void) | undefined;
    let text = "";
    const slow = new Writable({
      write(chunk, _, done) {
        text += chunk;
        release = done;
      },
    });
    const exporter = exporterTo(slow, { verbosity: "normal" });
    const first = exporter.send(batch("logs", { body: { stringValue: "one" } }), never);
    const second = exporter.send(batch("logs", { body: { stringValue: "two" } }), never);
    await new Promise(setImmediate);
    expect(text).toMatch(/one\n$/);
    release?.();
    await first;
    await new Promise(setImmediate);
    expect(text).toMatch(/two\n$/);
    release?.();
    await second;
  });

  test("stops when aborted, and continues with the next batch", async () => {
    let release: (() => void) | undefined;
    const slow = new Writable({
      write(_chunk, _, done) {
        release = done;
      },
    });
    const exporter = exporterTo(slow, {});
    const abort = new AbortController();
    const stuck = exporter.send(batch("logs", {}), abort.signal);
    await new Promise(setImmediate);
    abort.abort();
    await expect(stuck).rejects.toMatchObject({ kind: "transient" });
    const next = exporter.send(batch("logs", {}), never);
    release?.();
    release = undefined;
    while (release === undefined) await new Promise(setImmediate);
    (release as () => void)();
    await next;
  });

  test("refuses transiently when the reader is gone", async () => {
    const broken = new Writable({
      write(_chunk, _, done) {
        done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
      },
    });
    const exporter = exporterTo(broken, {});
    await expect(exporter.send(batch("logs", {}), never)).rejects.toMatchObject({ kind: "transient", status: "EPIPE" });
    await expect(exporter.send(batch("logs", {}), never)).rejects.toMatchObject({ kind: "transient" });
  });

  test("survives a real stdout that is closed", async () => {
    const door = (path: string) => JSON.stringify(new URL(`../../../dist/${path}`, import.meta.url).href);
    const script = `
      const { debugExporter } = await import(${door("exporters/debug/component.js")});
      const { Batch } = await import(${door("plugin.js")});
      const exporter = debugExporter.create(debugExporter.schema.parse({}), { clock: { now: () => Date.now() } });
      for (;;) {
        const kind = await exporter.send(Batch.empty("logs"), new AbortController().signal).catch((error) => error.kind);
        if (kind !== undefined) { process.stderr.write(kind); break; }
      }`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    let said = "";
    for await (const chunk of child.stderr) said += chunk;
    expect(said).toBe("transient");
  });
});

describe("sampling", () => {
  test("shows the first few of each second and then every n-th, and says how many it left out", async () => {
    let now = 1000;
    const page = new Page();
    const exporter = exporterTo(page, { sampling_initial: 1, sampling_thereafter: 3 }, () => now);
    for (let i = 0; i < 6; i++) await exporter.send(batch("logs", {}), never);
    now += 1000;
    await exporter.send(batch("logs", {}), never);
    expect(page.text.split("\n").map((line) => line.split(" ", 4).join(" "))).toEqual([
      "logs: 1 log record",
      "(2 batches of logs",
      "logs: 1 log record",
      "(2 batches of logs",
      "logs: 1 log record",
      "",
    ]);
  });

  test("shows everything by default", async () => {
    const page = await shown("basic", ...Array.from({ length: 20 }, () => batch("logs", {})));
    expect(page.split("\n")).toHaveLength(21);
  });
});

describe("config", () => {
  test.each([
    [{}, "basic"],
    [{ verbosity: "Detailed" }, "detailed"],
    [{ loglevel: "debug" }, "detailed"],
    [{ loglevel: "INFO" }, "normal"],
    [{ loglevel: "warn" }, "basic"],
    [{ loglevel: "debug", verbosity: "normal" }, "normal"],
  ])("%j is %s", async (written, verbosity) => {
    const page = new Page();
    await exporterTo(page, written).send(batch("logs", { severityNumber: 9 }), never);
    const found = page.text.includes("Log record 1") ? "detailed" : page.text.includes("INFO") ? "normal" : "basic";
    expect(found).toBe(verbosity);
  });

  test("appends to the files of output_paths, as the Collector does", async () => {
    const path = join(await temporaryDirectory(), "debug.log");
    for (const output of [path, pathToFileURL(path).href]) {
      const exporter = debugExporter.create(
        debugExporter.schema.parse({ output_paths: [output] }),
        exporterContext({}),
      );
      await exporter.start?.();
      await exporter.send(batch("logs", {}), never);
      await exporter.stop?.();
    }
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    expect([lines.length, new Set(lines).size]).toEqual([2, 1]);
    const missing = debugExporter.schema.parse({ output_paths: [join(path, "no")] });
    await expect(debugExporter.create(missing, exporterContext({})).start?.()).rejects.toThrow(/cannot write to/);
  });

  test("accepts the Collector's keys and rejects others", () => {
    const { schema } = debugExporter;
    expect(
      schema.safeParse({
        sampling_initial: 5,
        sampling_thereafter: 200,
        use_internal_logger: false,
        output_paths: ["stdout"],
      }).success,
    ).toBe(true);
    expect(schema.safeParse({ verbosity: "loud" }).success).toBe(false);
    expect(schema.safeParse({ output_paths: [""] }).success).toBe(false);
    expect(schema.safeParse({ verbose: true }).success).toBe(false);
  });
});
