import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Batch, batchToJson } from "../../../src/plugin.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { until } from "../../support/until.js";
import { LogFiles } from "./harness.js";

describe("the operators of file_log", () => {
  it("parse lines into attributes, times and severities that a check of OTLP takes", async () => {
    const files = new LogFiles();
    const lines = Array.from({ length: 500 }, (_, i) =>
      JSON.stringify({
        time: "2024-05-06T07:08:09.5Z",
        level: i % 2 ? "error" : "info",
        msg: `m${i}`,
        n: i,
        nested: { a: [i] },
      }),
    );
    writeFileSync(files.path("a.log"), `${lines.join("\n")}\n`);
    await files.start({
      operators: [
        {
          type: "json_parser",
          timestamp: {
            parse_from: "attributes.time",
            layout_type: "gotime",
            layout: "2006-01-02T15:04:05.999999999Z07:00",
          },
          severity: { parse_from: "attributes.level" },
        },
        { type: "move", from: "attributes.msg", to: "body" },
        { type: "filter", expr: 'attributes.level == "info"' },
      ],
    });
    await until(() => expect(files.bodies).toHaveLength(250));
    const [batch] = files.intake.batches;
    expect(Batch.admit("logs", batch!.bytes).count).toBe(250);
    interface Request {
      readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly object[] }[] }[];
    }
    const { resourceLogs } = JSON.parse(batchToJson(batch!).toString()) as Request;
    const [record] = resourceLogs[0]!.scopeLogs[0]!.logRecords;
    expect(record).toMatchObject({
      timeUnixNano: "1714979289500000000",
      severityNumber: 17,
      severityText: "error",
      body: { stringValue: "m1" },
    });
    expect(files.records[0]!.attributes).toMatchObject({ "log.file.name": "a.log", n: 1, nested: { a: [1] } });
  });

  it("groups records by the resources that they are given", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "shop one\ncart two\nshop three\n");
    await files.start({
      resource: { host: "h" },
      operators: [
        { type: "regex_parser", regex: "^(?P<service>\\S+) (?P<text>.*)" },
        { type: "move", from: "attributes.service", to: 'resource["service.name"]' },
        { type: "move", from: "attributes.text", to: "body" },
      ],
    });
    await until(() => expect(files.bodies.toSorted()).toEqual(["one", "three", "two"]));
    const services = files.records.map(({ body, resource }) => `${resource.host} ${resource["service.name"]} ${body}`);
    expect(services.toSorted()).toEqual(["h cart two", "h shop one", "h shop three"]);
  });

  it("keep the offset in front of what they hold back, until that is safe", async () => {
    const files = new LogFiles();
    const operators = [
      {
        type: "recombine",
        combine_field: "body",
        is_first_entry: 'body matches "^\\\\S"',
        source_identifier: 'attributes["log.file.path"]',
      },
    ];
    const config = { include_file_path: true, preserve_leading_whitespaces: true, operators };
    writeFileSync(files.path("a.log"), "first\n  a\nsecond\n");
    await files.start(config);
    await until(() => expect(files.bodies).toEqual(["first\n  a"]));
    await files.stop();
    expect(readFileSync(files.path("offsets/file_log.offsets"), "utf8")).toMatch(/"o":10[,}]/);
    appendFileSync(files.path("a.log"), "  b\nthird\n");
    let settle = () => {};
    files.intake.answer = () => new Promise((resolve) => (settle = () => resolve(ACCEPTED)));
    await files.start(config);
    await until(() => expect(files.bodies).toEqual(["first\n  a", "second\n  b"]));
    const before = readFileSync(files.path("offsets/file_log.offsets"), "utf8");
    expect(before.match(/"o":\d+/g)!.at(-1)).toBe('"o":10');
    settle();
    await until(() =>
      expect(
        readFileSync(files.path("offsets/file_log.offsets"), "utf8")
          .match(/"o":\d+/g)!
          .at(-1),
      ).toBe('"o":21'),
    );
  });

  it("pass on what was held back for long enough", async () => {
    const files = new LogFiles();
    const operators = [
      { type: "recombine", combine_field: "body", is_last_entry: "false", force_flush_period: "50ms" },
    ];
    writeFileSync(files.path("a.log"), "one\ntwo\n");
    await files.start({ operators });
    await until(() => expect(files.bodies).toEqual(["one\ntwo"]));
    await until(() => expect(readFileSync(files.path("offsets/file_log.offsets"), "utf8")).toContain('"o":8'));
  });

  it("evaluate expressions in the receiver's own attributes", async () => {
    const files = new LogFiles();
    writeFileSync(files.path("a.log"), "one\n");
    await files.start({ attributes: { size: "EXPR(len(body)) bytes" }, resource: { first: "EXPR(body[0:1])" } });
    await until(() =>
      expect(files.records).toMatchObject([{ attributes: { size: "3 bytes" }, resource: { first: "o" } }]),
    );
  });
});
