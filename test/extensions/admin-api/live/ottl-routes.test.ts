import { describe, expect, it } from "vitest";
import { startApi } from "../harness.js";
import { undescribed } from "../openapi-document.js";

const record = { body: { stringValue: "a" }, severityNumber: 9 };

describe("POST /ottl", () => {
  it("returns the record after each statement", async () => {
    const { ask } = await startApi();
    const statements = [
      'set(body, "b")',
      'set(body, "b") where severity_number > 9',
      'set(body, ConvertCase(body, "upper"))',
    ];
    const { status, body } = await ask("POST", "/ottl", { context: "log", statements, record });
    expect(status).toBe(200);
    expect(undescribed(body, "OttlResults")).toEqual([]);
    expect(
      body.results.map((each: { changed: boolean; record: typeof record }) => [each.changed, each.record.body]),
    ).toEqual([
      [true, { stringValue: "b" }],
      [false, { stringValue: "b" }],
      [true, { stringValue: "B" }],
    ]);
  });

  it("reports which statement does not compile or fails, and continues with the next", async () => {
    const { ask } = await startApi();
    const statements = ["set(bod, 1)", "set(body, ParseJSON(body))", 'set(body, "c")'];
    const { results } = (await ask("POST", "/ottl", { context: "log", statements, record })).body;
    expect(results[0]).toMatchObject({ changed: false, error: expect.stringContaining("bod"), offset: 4 });
    expect(results[1]).toMatchObject({ changed: false, error: expect.any(String), record });
    expect(results[2]).toMatchObject({ changed: true, record: { body: { stringValue: "c" } } });
  });

  it("stops a trial whose record or results get too large", async () => {
    const { ask } = await startApi();
    const statements = Array.from({ length: 50 }, (_, i) => `set(attributes["${i % 2}"], attributes)`);
    const large = { ...record, attributes: [{ key: "k", value: { stringValue: "v".repeat(10_000) } }] };
    const { status, body } = await ask("POST", "/ottl", { context: "log", statements, record: large });
    expect(JSON.stringify(body).length).toBeLessThan(8 * 1024 * 1024);
    if (status === 200) expect(body.results.at(-1).error).toMatch(/too large|nested/);
    else expect([status, body.error.message]).toEqual([400, expect.stringContaining("too large")]);
  });

  it("finds the context of a statement that names it", async () => {
    const { ask } = await startApi();
    const asked = { signal: "logs", statements: ['set(resource.attributes["a"], 1)'], record, resource: {} };
    const [result] = (await ask("POST", "/ottl", asked)).body.results;
    expect(result).toMatchObject({
      context: "resource",
      changed: true,
      resource: { attributes: [{ key: "a", value: { intValue: "1" } }] },
    });
  });

  it("tells whether a condition holds", async () => {
    const { ask } = await startApi();
    const matched = async (condition: string) =>
      (await ask("POST", "/ottl", { context: "log", condition, record })).body.results[0].matched;
    expect([await matched("severity_number == 9"), await matched("severity_number > 9")]).toEqual([true, false]);
  });

  it("accepts whole requests, and metrics with all of their data points", async () => {
    const { ask } = await startApi();
    const request = { resourceLogs: [{ scopeLogs: [{ logRecords: [record, record] }] }] };
    const whole = await ask("POST", "/ottl", { context: "log", statements: ['set(body, "b")'], record: request });
    expect(JSON.stringify(whole.body.results[0].record).match(/"b"/g)).toHaveLength(2);
    const metric = { name: "m", gauge: { dataPoints: [{ asInt: "1" }, { asInt: "2" }] } };
    const statements = ['set(attributes["a"], 1)'];
    const points = await ask("POST", "/ottl", { context: "datapoint", statements, record: metric });
    expect(points.body.results[0].record.gauge.dataPoints).toMatchObject([{ asInt: "1" }, { asInt: "2" }]);
  });

  it.each([
    ["no statements", { record }, /statements or a condition/],
    ["no signal", { statements: [], record }, /which signal/],
    [
      "a context of another signal",
      { context: "span", signal: "logs", statements: ["set(name, 1)"], record },
      /no span/,
    ],
    ["no OTLP", { context: "log", statements: [], record: { severityNumber: "high" } }, /not OTLP/],
    ["an unknown key", { context: "log", statements: [], record, x: 1 }, /x/],
  ])("refuses %s", async (_, asked, message) => {
    const { ask } = await startApi();
    const { status, body } = await ask("POST", "/ottl", asked);
    expect([status, body.error.message]).toEqual([400, expect.stringMatching(message)]);
  });
});
