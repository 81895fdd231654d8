import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { LogEntry } from "../../../src/runtime/logs/entries/log-entry.js";
import { OperatorChain } from "../../../src/runtime/logs/operator-chain.js";
import { operatorsSchema } from "../../../src/runtime/logs/operator-schema.js";
import { compilePattern } from "../../../src/runtime/text/patterns/pattern.js";
import { runs } from "../../support/runs.js";

const utc = (text: string) => BigInt(Date.parse(text)) * 1_000_000n;

/** The entry of a message that could be parsed; undefined of one that could not. */
function parsed(protocol: string, text: string): LogEntry | undefined {
  let out: LogEntry | undefined;
  const context = { id: "syslog", metrics: noMetrics, logger: silentLogger, clock: systemClock, random: () => 0.4 };
  const operators = operatorsSchema.parse([{ type: "syslog_parser", protocol, on_error: "drop" }]);
  const chain = new OperatorChain(operators, context, (entry) => {
    out = entry;
  });
  chain.process(new LogEntry(text, {}, {}, undefined));
  return out;
}

/** The grammar of both headers as patterns, which say the same as the parser does by hand. */
const RFC5424 = compilePattern(
  "(?s)^(?P<version>[1-9][0-9]{0,2}) (?P<time>-|\\S+) (?P<hostname>\\S{1,255}) (?P<appname>\\S{1,48}) (?P<proc_id>\\S{1,128}) (?P<msg_id>\\S{1,32}) -(?: (?P<message>.*))?$",
);
const RFC3164 = compilePattern(
  "(?s)^(?P<time>[A-Z][a-z]{2} [ 0-9]?[0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}) (?P<hostname>\\S+) (?P<rest>.*)$",
);
const TAG = compilePattern(
  "(?s)^(?P<appname>[^\\[\\]:\\s]{1,64})(?:\\[(?P<proc_id>[^\\]]{0,128})\\])?: ?(?P<message>.*)$",
);

const pieces = (...texts: string[]) => fc.array(fc.constantFrom(...texts), { maxLength: 4 }).map((all) => all.join(""));
const word = pieces(
  "a",
  "-",
  "7",
  "é",
  "😀",
  "x".repeat(31),
  "y".repeat(47),
  "\t",
  "\v",
  "\u00a0",
  " ",
  "[",
  "]:",
  ":",
);

describe("syslog_parser", () => {
  it("takes the headers of RFC 5424 apart as its grammar says", () => {
    const header = fc.tuple(
      pieces("1", "0", "12"),
      fc.constantFrom("-", "2024-05-06T07:08:09Z"),
      word,
      word,
      word,
      word,
    );
    fc.assert(
      fc.property(header, word, (fields, message) => {
        const text = `${fields.join(" ")} - ${message}`;
        const groups = RFC5424.groups(text);
        const entry = parsed("rfc5424", `<13>${text}`);
        // A time may hold what looks like the rest of a header: only the real one can be read.
        if (groups === undefined || (groups["time"] !== "-" && groups["time"] !== fields[1]))
          return void expect(entry).toBeUndefined();
        for (const name of ["hostname", "appname", "proc_id", "msg_id"])
          expect(entry!.attributes[name]).toBe(groups[name] === "-" ? undefined : groups[name]);
        expect(entry!.attributes["version"]).toBe(BigInt(groups["version"]!));
        expect(entry!.attributes["message"] ?? "").toBe(groups["message"] ?? "");
        return void expect(entry!.timestamp).toBe(groups["time"] === "-" ? undefined : utc(fields[1]));
      }),
      runs(200),
    );
  });

  it("takes the headers of RFC 3164 apart as its grammar says", () => {
    fc.assert(
      fc.property(word, word, word, (host, tag, message) => {
        const text = `Feb  3 04:05:06 ${host} ${tag}[${host}]: ${message}`;
        const groups = RFC3164.groups(text);
        const entry = parsed("rfc3164", `<13>${text}`);
        if (groups === undefined) return void expect(entry).toBeUndefined();
        const hasHost = !groups["hostname"]!.endsWith(":");
        const rest = hasHost ? groups["rest"]! : `${groups["hostname"]} ${groups["rest"]}`;
        const named = TAG.groups(rest);
        expect(entry!.attributes["hostname"]).toBe(hasHost ? groups["hostname"] : undefined);
        expect(entry!.attributes["appname"]).toBe(named?.["appname"]);
        expect(entry!.attributes["proc_id"]).toBe(named?.["proc_id"] || undefined);
        return void expect(entry!.attributes["message"]).toBe(named?.["message"] ?? rest);
      }),
      runs(200),
    );
  });

  it.each([
    ["2024-05-06T07:08:09.25Z", utc("2024-05-06T07:08:09.250Z")],
    ["2024-05-06T07:08:09.123456789Z", utc("2024-05-06T07:08:09.000Z") + 123_456_789n],
    ["2024-05-06T07:08:09Z", utc("2024-05-06T07:08:09.000Z")],
    ["2024-05-06T09:08:09+02:00", utc("2024-05-06T07:08:09.000Z")],
    ["1969-12-31T23:59:59Z", -1_000_000_000n],
  ])("reads the time %s", (time, nanos) => {
    expect(parsed("rfc5424", `<13>1 ${time} h a p m -`)?.timestamp).toBe(nanos);
  });

  it.each(["2024-05-06T07:08:0\u0130Z", "2024-13-06T07:08:09Z", "2024-05-06", "now"])(
    "takes %s for no time",
    (time) => {
      expect(parsed("rfc5424", `<13>1 ${time} h a p m -`)).toBeUndefined();
    },
  );

  it("takes quotes, brackets and backslashes of structured data back out of their escapes", () => {
    const entry = parsed("rfc5424", '<13>1 - - - - - [id a="x\\"y" b="\\]\\\\" c="\\n"][other] text');
    expect(entry!.attributes["structured_data"]).toEqual({ id: { a: 'x"y', b: "]\\", c: "\\n" }, other: {} });
    expect(entry!.attributes["message"]).toBe("text");
  });
});
