import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseObjectName, readObject } from "../../../src/runtime/archive/read-object.js";
import { RequestCutter } from "../../../src/runtime/archive/request-cutter.js";
import { Batch } from "../../../src/runtime/otlp/batch.js";
import { logObject } from "../../support/telemetry/archived-objects.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { availableHere } from "../../support/telemetry/with-zstd.js";

async function read(name: string, bytes: Uint8Array, chunkSize = 1000) {
  const found: string[] = [];
  let batches = 0;
  let error: unknown;
  try {
    for await (const batch of readObject(parseObjectName(name)!, chunks(bytes, chunkSize), 1000)) {
      batches++;
      found.push(...bodies(batch));
    }
  } catch (thrown) {
    error = thrown;
  }
  return { found, batches, error };
}

async function* chunks(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe("the name of an archived object", () => {
  it("tells the signal, the format and the compression, whatever stands before", () => {
    expect(parseObjectName("a/year=2026/logs_17.binpb")).toEqual({
      signal: "logs",
      format: "otlp_proto",
      compression: undefined,
    });
    expect(parseObjectName("prod-metrics_traces_a-b.json.gz")).toEqual({
      signal: "traces",
      format: "otlp_json",
      compression: "gzip",
    });
    expect(parseObjectName("x/logs_1.txt.zst")).toEqual({ signal: "logs", format: "body", compression: "zstd" });
  });

  it.each(["x/shadow", "logs.json", "traces_1.txt", "logs_1.binpb.part", "logs_1.parquet", ""])(
    "is not one of ours: %j",
    (name) => expect(parseObjectName(name)).toBeUndefined(),
  );

  it("ends with body or txt if each line is a record", () => {
    expect(parseObjectName("logs_1.body.gz")).toEqual({ signal: "logs", format: "body", compression: "gzip" });
    expect(parseObjectName("traces_1.body")).toBeUndefined();
  });

  it("must have the prefix that is asked for", () => {
    expect(parseObjectName("a/prod-logs_1.json", "prod-")).toBeDefined();
    expect(parseObjectName("a/test-logs_1.json", "prod-")).toBeUndefined();
    expect(parseObjectName("a/prod-logs_1.json", "")).toBeUndefined();
  });
});

describe("an archived object", () => {
  const texts = Array.from({ length: 300 }, (_, i) => `line ${i} ü`);

  it.each(
    (["otlp_proto", "otlp_json", "body"] as const).flatMap((format) =>
      availableHere(["none", "gzip", "zstd"]).map((compression) => [format, compression] as const),
    ),
  )("gives all its records as %s with compression %s", async (format, compression) => {
    const { name, bytes } = await logObject("1", texts, format, compression);
    expect(await read(name, bytes, 77)).toEqual({ found: texts, batches: 1, error: undefined });
  });

  it("is cut into batches of about a megabyte, the same ones however its bytes arrive", async () => {
    const many = Array.from({ length: 400 }, (_, i) => `${i} ${"x".repeat(10_000)}`);
    const bytes = Buffer.concat(many.map((text) => Buffer.from(logs(text).bytes)));
    const whole = await read("logs_1.binpb", bytes, bytes.length);
    expect(whole.batches).toBeGreaterThan(2);
    expect(whole.found).toEqual(many);
    expect(await read("logs_1.binpb", bytes, 999)).toEqual(whole);
    expect(await read("logs_1.binpb.gz", gzipSync(bytes), 999)).toEqual(whole);
  });

  it("is cut inside a resource if that has more records", async () => {
    const many = Array.from({ length: 400 }, (_, i) => `${i} ${"x".repeat(10_000)}`);
    const { found, batches } = await read("logs_1.binpb", logs(...many).bytes);
    expect(found).toEqual(many);
    expect(batches).toBeGreaterThan(2);
  });

  it("gives the records before the place where it was cut off", async () => {
    const bytes = Buffer.concat([Buffer.from(logs("a", "b").bytes), Buffer.from(logs("c").bytes)]);
    const cut = await read("logs_1.binpb", bytes.subarray(0, bytes.length - 1));
    expect(cut).toMatchObject({ found: ["a", "b"], error: { fault: "truncated" } });
    const packed = gzipSync(bytes);
    expect((await read("logs_1.binpb.gz", packed.subarray(0, packed.length - 9))).error).toMatchObject({
      fault: "truncated",
    });
  });

  it("gives the good lines of JSON, and names the bad ones", async () => {
    const good = (await logObject("1", ["a"], "otlp_json")).bytes;
    const bytes = Buffer.concat([good, Buffer.from("\nnot json\n"), good, Buffer.from("\n")]);
    const { found, error } = await read("logs_1.json", bytes);
    expect(found).toEqual(["a", "a"]);
    expect(error).toMatchObject({ fault: "damaged", message: expect.stringContaining("a line is no request") });
  });

  it.each(["json", "binpb", "txt"])(
    "gives what comes before the end of gzip data that is cut off (%s)",
    async (ending) => {
      const format = ({ json: "otlp_json", binpb: "otlp_proto", txt: "body" } as const)[ending as "json"];
      const parts: Buffer[] = [];
      for (let i = 0; i < 50; i++) {
        const { bytes } = await logObject("1", [`${i} ${randomBytes(100).toString("hex")}`], format);
        parts.push(bytes, Buffer.from(format === "otlp_json" ? "\n" : ""));
      }
      const packed = gzipSync(Buffer.concat(parts));
      const { found, error } = await read(`logs_1.${ending}.gz`, packed.subarray(0, -packed.length / 4), packed.length);
      expect(error).toMatchObject({ fault: "truncated" });
      expect(found.length).toBeGreaterThan(20);
      expect(found.every((text, i) => new RegExp(`^${i} [0-9a-f]{200}$`).test(text))).toBe(true);
    },
  );

  it("that somebody has encrypted is damaged", async () => {
    for (const ending of ["binpb", "json", "binpb.gz", "json.zst"]) {
      const noise = Buffer.concat([Buffer.from([0xff]), randomBytes(5000)]);
      expect((await read(`logs_1.${ending}`, noise)).error, ending).toMatchObject({ fault: "damaged" });
    }
  });

  it("that claims a huge resource, or unpacks to a huge line, is too large", async () => {
    const huge = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07]);
    expect((await read("logs_1.binpb", huge)).error).toMatchObject({ fault: "too_large" });
    const bomb = gzipSync(Buffer.alloc(130 * 1024 * 1024, "a"));
    expect((await read("logs_1.json.gz", bomb, bomb.length)).error).toMatchObject({ fault: "too_large" });
  });

  it("is read although it is a long line, as the exporter writes a large batch", async () => {
    const { bytes } = await logObject("1", ["a"], "otlp_json");
    const line = Buffer.concat([bytes, Buffer.alloc(100 * 1024 * 1024, " ")]);
    expect(await read("logs_1.json", line, line.length)).toMatchObject({ found: ["a"], error: undefined });
  });

  it("passes on the failure of its source, and not as damage", async () => {
    async function* failing() {
      yield gzipSync(Buffer.from(logs("a").bytes)).subarray(0, 10);
      throw new Error("connection reset");
    }
    const reading = readObject(parseObjectName("logs_1.binpb.gz")!, failing(), 0).next();
    await expect(reading).rejects.toThrow("connection reset");
  });
});

describe("the cutter of requests", () => {
  it("keeps every byte in order, for any resources, pieces and chunks", () => {
    const resources = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 });
    fc.assert(
      fc.property(
        resources,
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 1, max: 500 }),
        (bodiesOf, pieceBytes, chunk) => {
          const bytes = Buffer.concat(
            bodiesOf.map((body) => Buffer.concat([Buffer.from([0x0a, ...varint(body.length)]), body])),
          );
          const cutter = new RequestCutter(pieceBytes, 1000);
          const pieces: Uint8Array[] = [];
          for (let at = 0; at < bytes.length; at += chunk) pieces.push(...cutter.push(bytes.subarray(at, at + chunk)));
          pieces.push(...cutter.end());
          expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
          for (const piece of pieces.slice(0, -1)) expect(piece.length).toBeGreaterThanOrEqual(pieceBytes);
        },
      ),
    );
  });

  it("never gives anything but batches that can be admitted", () => {
    const cutter = new RequestCutter(10, 1000);
    const pieces = [...cutter.push(logs("a", "b").bytes), ...cutter.push(logs("c").bytes), ...cutter.end()];
    expect(pieces.map((piece) => Batch.admit("logs", piece)).flatMap(bodies)).toEqual(["a", "b", "c"]);
  });
});

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >> 7)];
}
