import { describe, expect, it } from "vitest";
import { changesBetween } from "../../../../src/agent/cli/live/ottl.js";
import { cli } from "../terminal.js";

const RECORD = '{"severityNumber": 13, "body": {"stringValue": "a"}}';

describe("sluice ottl", () => {
  it("says of each statement what it changed, and shows the record in the end", async () => {
    const statements = ['set(log.body, "b")', 'set(log.attributes["n"], 1)', 'set(log.body, "b")'];
    const { code, out } = await cli(["ottl", "--record", RECORD, ...statements]);
    expect(code).toBe(0);
    expect(out.split("\n\n")[0]!.split("\n")).toEqual([
      'changed: set(log.body, "b")',
      "  - body: a",
      "  + body: b",
      'changed: set(log.attributes["n"], 1)',
      '  + attributes["n"]: 1',
      'unchanged: set(log.body, "b")',
    ]);
    expect(JSON.parse(out.split("\n\n")[1]!)).toMatchObject({ body: { stringValue: "b" } });
  });

  it("says why a statement failed, and exits with 1", async () => {
    const { code, out } = await cli(["ottl", "--context", "log", "--record", RECORD, "set(bod, 1)"]);
    expect(code).toBe(1);
    expect(out).toMatch(/^failed: set\(bod, 1\)\n {2}.*\(at character 5\)\n/);
  });

  it("decides a condition, by its exit code too", async () => {
    const decide = (condition: string) =>
      cli(["ottl", "--context", "log", "--record", RECORD, "--condition", condition]);
    expect(await decide("severity_number > 12")).toMatchObject({ code: 0, out: "holds: severity_number > 12\n" });
    expect(await decide("severity_number > 13")).toMatchObject({
      code: 1,
      out: "does not hold: severity_number > 13\n",
    });
  });

  it("prints JSON for programs", async () => {
    const { out } = await cli(["ottl", "--record", RECORD, "--json", 'set(log.body, "b")']);
    expect(JSON.parse(out).results).toMatchObject([{ changed: true, record: { body: { stringValue: "b" } } }]);
  });

  it("makes what is in a record printable", async () => {
    const record = JSON.stringify({ body: { stringValue: "\u001b[2J\u202e" } });
    const { out } = await cli(["ottl", "--record", record, 'set(log.attributes["x"], log.body)']);
    expect(out).not.toContain("\u001b");
    expect(out).not.toContain("\u202e");
  });

  it.each([
    [["--record", RECORD], "expected statements or --condition"],
    [["--record", "{", "set(log.body, 1)"], "the record is not JSON"],
    [["--record", "[]", "set(log.body, 1)"], "cannot read []"],
    [["--record", '{"severityNumber": "x"}', "set(log.body, 1)"], "the record is not OTLP/JSON"],
    [["--record", RECORD, "--context", "lot", "set(body, 1)"], "--context lot is unknown"],
    [["set(log.body, 1)"], "expected a record"],
  ])("refuses %j", async (args, message) => {
    const { code, err } = await cli(["ottl", ...args]);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe("changes between records", () => {
  it("are told by the path of each value", () => {
    const before = { body: { stringValue: "a" }, flags: 1, attributes: [{ key: "k", value: { intValue: "1" } }] };
    const after = { body: { kvlistValue: { values: [{ key: "x", value: { boolValue: true } }] } }, attributes: [] };
    expect(changesBetween(before, after)).toEqual([
      { sign: "-", path: "body", value: "a" },
      { sign: "+", path: "body", value: '{"x":true}' },
      { sign: "-", path: "flags", value: "1" },
      { sign: "-", path: 'attributes["k"]', value: "1" },
    ]);
    expect(changesBetween(before, before)).toEqual([]);
  });
});
