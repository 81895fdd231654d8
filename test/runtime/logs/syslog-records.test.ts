import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { LogBatchWriter } from "../../../src/runtime/logs/entries/log-batch-writer.js";
import { LogEntry, writeEntry } from "../../../src/runtime/logs/entries/log-entry.js";
import { OperatorChain } from "../../../src/runtime/logs/operator-chain.js";
import { operatorsSchema } from "../../../src/runtime/logs/operator-schema.js";
import { SyslogRecords } from "../../../src/runtime/logs/syslog-records.js";
import type { WireWriter } from "../../../src/runtime/otlp/bytes/writer.js";
import { runs } from "../../support/runs.js";

const parser = (more: object = {}) =>
  operatorsSchema.parse([{ type: "syslog_parser", protocol: "rfc5424", on_error: "drop", ...more }]);

function recordBytes(write: (wire: WireWriter) => void): Buffer {
  const writer = new LogBatchWriter(Buffer.alloc(0), Buffer.alloc(0), 1024);
  writer.observedAt(1);
  writer.add(100, write);
  return Buffer.from(writer.finish().bytes);
}

/** The record that the operator makes of the message; undefined if it fails. */
function parsed(text: string): Buffer | undefined {
  let bytes: Buffer | undefined;
  const context = { id: "syslog", metrics: noMetrics, logger: silentLogger, clock: systemClock, random: () => 0.4 };
  const chain = new OperatorChain(parser(), context, (entry) => {
    bytes = recordBytes((wire) => writeEntry(wire, entry));
  });
  chain.process(new LogEntry(text, {}, {}, undefined));
  return bytes;
}

/** The record that is written without the operator; undefined if the message is left to it. */
function written(records: SyslogRecords, text: string): Buffer | undefined {
  const bytes = Buffer.from(`<1>${text}]"= `);
  return records.read(bytes, 3, bytes.length - 4) ? recordBytes(records.write) : undefined;
}

const unlimited = () => new SyslogRecords(Number.POSITIVE_INFINITY, 0);
const TIME = "2024-05-06T07:08:09.25Z";
const ORDINARY = `<165>1 ${TIME} host app 17 ID47 [origin ip="10.0.0.7" seq="5"][other@1 a="" __proto__="x"] request 5 handled`;

const rarely = (usual: string, ...others: string[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
const header = (...usual: string[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom("-", ...usual) },
    { weight: 1, arbitrary: fc.constantFrom("", "a b", "\t", "\v", "é", "[", "x".repeat(33), "y".repeat(260)) },
  );
const name = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("a", "b", "origin", "x@32473", "__proto__", "z".repeat(32)) },
  { weight: 1, arbitrary: fc.constantFrom("1", "", "z".repeat(33), "é", "\t", "[") },
);
const value = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("", "v", "10.0.0.7", "a b]", "[x=", "\n", "w".repeat(200)) },
  { weight: 1, arbitrary: fc.constantFrom('\\"', "\\]", "\\\\", "é", '"') },
);
const parameter = fc
  .tuple(rarely(" ", "", "  ", "\t"), name, value)
  .map(([gap, key, text]) => `${gap}${key}="${text}"`);
const element = fc
  .tuple(name, fc.array(parameter, { maxLength: 3 }), rarely("]", "", " ]", "=]"))
  .map(([id, parameters, end]) => `[${id}${parameters.join("")}${end}`);
const data = fc.oneof(
  fc.constant("-"),
  fc.array(element, { maxLength: 3 }).map((all) => all.join("")),
);
const line = fc
  .tuple(
    rarely("<13>", "<0>", "<191>", "<192>", "<007>", "<>", "13", "<1", "<1234>", "", "5 <13>"),
    rarely("1", "0", "12", "999", "1000", "a", ""),
    header(TIME, "2024-05-06T07:08:09Z", "2024-05-06T09:08:09+02:00", "1969-12-31T23:59:59Z", "now"),
    header("host"),
    header("app"),
    header("17"),
    header("ID47"),
    data,
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(" text", "", " ", "text", "  x\ty\n", ` ${"m".repeat(300)}`) },
      fc.constantFrom(" é", " \ufeffm"),
    ),
  )
  .map(
    ([priority, version, time, host, app, process, id, structured, message]) =>
      `${priority}${[version, time, host, app, process, id, structured].join(" ")}${message}`,
  );

describe("records of syslog messages", () => {
  it("are written from the bytes of an ordinary message", () => {
    expect(written(unlimited(), ORDINARY)).toEqual(parsed(ORDINARY));
    expect(parsed(ORDINARY)).toBeDefined();
  });

  it.each([
    ["in other characters", ORDINARY.replace("request", "é")],
    ["with escapes", ORDINARY.replace("10.0.0.7", "\\]")],
    ["with another form of time", ORDINARY.replace(TIME, "2024-05-06T09:08:09+02:00")],
    ["that repeats a name", ORDINARY.replace("seq", "ip")],
    ["that is long", ORDINARY.padEnd(5000, "x")],
    ["that is none", "request 5 handled"],
  ])("are left to the operator for a message %s", (_what, text) => {
    expect(written(unlimited(), text)).toBeUndefined();
  });

  it("are left to the operator if they may be larger than a record may be", () => {
    const limited = (resourceSize: number) => new SyslogRecords(6000, resourceSize);
    expect(written(limited(0), ORDINARY)).toBeDefined();
    expect(written(limited(4000), ORDINARY)).toBeUndefined();
  });

  it("are the same as those of the operator, or left to it, whatever the message", () => {
    const records = unlimited();
    let count = 0;
    fc.assert(
      fc.property(line, (text) => {
        const bytes = written(records, text);
        if (bytes === undefined) return;
        count++;
        expect(bytes.equals(parsed(text) ?? Buffer.alloc(0)), JSON.stringify(text)).toBe(true);
      }),
      runs(3000),
    );
    expect(count).toBeGreaterThan(runs(3000).numRuns / 10);
  });

  it("are written only if nothing else is to be done", () => {
    expect(SyslogRecords.suit(parser())).toBe(true);
    const others = [{ protocol: "rfc3164" }, { parse_to: "body" }, { parse_from: "attributes.x" }, { if: "true" }];
    for (const more of others) expect(SyslogRecords.suit(parser(more)), JSON.stringify(more)).toBe(false);
    expect(SyslogRecords.suit([...parser(), ...parser({ id: "second" })])).toBe(false);
    expect(SyslogRecords.suit([])).toBe(false);
  });
});
