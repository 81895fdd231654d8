import { encodeLogs } from "../../../src/agent/embed/log-batch-builder.js";
import type { LogInput } from "../../../src/agent/embed/log-record.js";
import { type FuzzTarget, magnitude } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { textMutator } from "../mutate-text.js";

const NOW = 1_700_000_000_000;

/** Values that a program can log and JSON cannot express, by the text that stands for it. */
const VALUES: Readonly<Record<string, () => unknown>> = {
  "#undefined": () => undefined,
  "#nan": () => Number.NaN,
  "#bigint": () => 2n ** 70n,
  "#date": () => new Date(NOW),
  "#no date": () => new Date(Number.NaN),
  "#error": () => new Error("broken", { cause: new AggregateError([1, new TypeError("inner")]) }),
  "#map": () =>
    new Map<unknown, unknown>([
      [{}, 1],
      ["a", new Set([1, "b"])],
    ]),
  "#bytes": () => new Uint8Array([0, 255]),
  "#floats": () => new Float64Array([0.5, Number.NaN]),
  "#buffer": () => new ArrayBuffer(3),
  "#symbol": () => Symbol("s"),
  "#function": () => () => 1,
  "#throws": () => ({
    get a() {
      throw new Error("no");
    },
  }),
  "#json": () => ({ toJSON: () => ({ a: 1n }) }),
  "#json throws": () => ({
    toJSON() {
      throw new Error("no");
    },
  }),
  "#null prototype": () => Object.assign(Object.create(null), { a: 1 }),
  "#circle": () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = [circle];
    return circle;
  },
  "#wide": () => {
    let wide: unknown = 1;
    for (let i = 0; i < 12; i++) wide = [wide, wide];
    return wide;
  },
  "#proxy": () =>
    new Proxy(
      {},
      {
        ownKeys() {
          throw new Error("no");
        },
      },
    ),
};

function revive(_key: string, value: unknown): unknown {
  return typeof value === "string" && Object.hasOwn(VALUES, value) ? VALUES[value]!() : value;
}

/**
 * Every value that a program logs becomes a record. Only values that are not records, or cannot be read, are errors.
 */
function runRecord(input: Buffer): string {
  let record: LogInput;
  try {
    record = JSON.parse(input.toString("utf8"), revive);
  } catch {
    return "no JSON";
  }
  if (typeof record !== "object" || record === null) return "no record";
  const batch = encodeLogs([record], { "service.name": "fuzz", ...(record.attributes ?? {}) }, NOW);
  holdToOtlp(batch);
  return `${magnitude(batch.byteLength)} bytes`;
}

const RECORD = {
  name: "order.paid",
  body: { a: [1, "#map", null], b: "#error" },
  severity: "warn",
  severityNumber: 13,
  attributes: { "a.b": "#date", bytes: "#bytes", big: "#bigint", text: "\ud800 é" },
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  timestamp: NOW + 0.5,
};

/** Records of the program that embeds Sluice: the receiver `app`. */
export const appTargets: readonly FuzzTarget[] = [
  {
    name: "records of a program",
    share: 3,
    seeds: [RECORD, { body: "text" }, { body: "#circle", attributes: { a: "#wide" } }].map((record) =>
      Buffer.from(JSON.stringify(record)),
    ),
    mutate: textMutator([
      ...[
        ...'{}[]:,"',
        "null",
        "1e308",
        "-1",
        "18446744073709551616",
        '"body"',
        '"timestamp"',
        '"severity"',
        '"traceId"',
      ],
      ...Object.keys(VALUES).map((value) => `"${value}"`),
    ]),
    run: runRecord,
  },
];
