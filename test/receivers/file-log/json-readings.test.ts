import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { batchToJson } from "../../../src/plugin.js";
import { runs } from "../../support/runs.js";
import { until } from "../../support/until.js";
import { LogFiles } from "./harness.js";

const timestamp = { parse_from: "attributes.time", layout: "%Y-%m-%dT%H:%M:%S.%LZ" };
const severity = { parse_from: "attributes.level", mapping: { error: "kaputt", warn: "ÄRGER" }, overwrite_text: true };
const NOOP = { type: "noop" };

interface Request {
  readonly resourceLogs: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly object[] }[] }[];
}

/** The records of these lines, as OTLP/JSON, without the time when they were read. */
async function recordsOf(lines: readonly string[], operators: readonly object[]) {
  const files = new LogFiles();
  writeFileSync(files.path("a.log"), `${lines.join("\n")}\n`);
  await files.start({ operators });
  await until(() => expect(files.bodies).toHaveLength(lines.length));
  return files.intake.batches.flatMap((batch) => {
    const { resourceLogs } = JSON.parse(batchToJson(batch).toString()) as Request;
    const all = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
    return all.map((record) => ({ ...record, observedTimeUnixNano: undefined, attributes: byKey(record) }));
  });
}

const byKey = (record: object) =>
  (record as { attributes?: { key: string }[] }).attributes?.toSorted((a, b) => (a.key < b.key ? -1 : 1));

const pad = (n: number, size: number) => String(n).padStart(size, "0");
const times = fc.oneof(
  fc
    .tuple(
      fc.nat(9999),
      fc.nat(13),
      fc.nat(32),
      fc.nat(25),
      fc.nat(61),
      fc.nat(61),
      fc.stringMatching(/^(\.\d{0,10})?$/),
    )
    .map(
      ([y, mo, d, h, mi, s, f]) =>
        `${pad(y, 4)}-${pad(mo, 2)}-${pad(d, 2)}T${pad(h, 2)}:${pad(mi, 2)}:${pad(s, 2)}${f}Z`,
    ),
  fc.constantFrom<unknown>(
    "2024-02-29T00:00:00.000Z",
    "2023-02-29T00:00:00.000Z",
    "2024-05-06 07:08:09.5Z",
    "",
    5,
    null,
  ),
  fc.constantFrom<unknown>(
    "1969-12-31T23:59:59.999Z",
    "2262-05-01T00:00:00.123456789Z",
    "2024-05-06T07:08:09.12\u00e9Z",
  ),
);
const levels = fc.constantFrom<unknown>(
  "info",
  "WARN",
  "error",
  "kaputt",
  "\u00c4RGER",
  "\u00e4rger",
  "nobody",
  "",
  9,
  true,
);
const lines = fc
  .record({
    time: times,
    level: levels,
    msg: fc.string({ maxLength: 5 }),
    more: fc.constantFrom<unknown>(1, { time: "x" }),
  })
  .chain((all) => fc.subarray(Object.entries(all)).map((some) => JSON.stringify(Object.fromEntries(some))));

it("reads time and severity of JSON lines as the long way does, which an operator behind the parser makes it go", async () => {
  const parser = { type: "json_parser", timestamp, severity, on_error: "send_quiet" };
  await fc.assert(
    fc.asyncProperty(fc.array(lines, { minLength: 1, maxLength: 60 }), async (all) => {
      expect(await recordsOf(all, [parser])).toEqual(await recordsOf(all, [parser, NOOP]));
    }),
    runs(8),
  );
});
