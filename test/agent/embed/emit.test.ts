import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { telemetryValue } from "../../../src/agent/embed/telemetry-value.js";
import { type LogInput, Refusal } from "../../../src/index.js";
import { Batch, decodeTree, type Tree } from "../../../src/plugin.js";
import { anyCharacter } from "../../support/any-character.js";
import { runs } from "../../support/runs.js";
import { bodies } from "../../support/telemetry/batches.js";
import { referenceDecode, referenceEncode } from "../../support/telemetry/otlp-reference.js";
import {
  ACCEPTED,
  cleanUp,
  INTO_KEPT,
  keeper,
  keptLog,
  logRecords,
  make,
  metric,
  REFUSED,
  started,
  temporaryFolder,
} from "./support.js";

afterEach(cleanUp);

/** Returns the delivered ones of these records, as OTLP's own fields. */
async function emitted(...records: LogInput[]): Promise<Tree[]> {
  const { batches, components } = keeper();
  const sluice = await started({ config: INTO_KEPT, components });
  await sluice.logs.emit(records, { failOnError: true });
  await sluice.stop();
  for (const batch of batches) expect(Batch.admit("logs", batch.bytes).count).toBe(batch.count);
  return logRecords(batches);
}

/** The object in an attribute that is read only when the record is written. */
const lazily = (value: object) => ({ lazy: { toJSON: () => ({ ...value }) } });

const attribute = (key: string, value: Tree) => ({ key, value });

describe("logs.emit", () => {
  it("writes what a program says as an OTLP log record", async () => {
    const [record] = await emitted({
      name: "order.paid",
      body: "order paid",
      severity: "Warn",
      attributes: { "order.id": 42, total: 1.5, vip: true, tags: ["a", 1], nothing: null, missing: undefined },
      traceId: "0af7651916cd43dd8448eb211c80319c",
      spanId: "b7ad6b7169203331",
      timestamp: new Date(1_700_000_000_123),
    });
    expect(record).toMatchObject({
      eventName: "order.paid",
      body: { stringValue: "order paid" },
      severityText: "Warn",
      severityNumber: 13,
      timeUnixNano: 1_700_000_000_123_000_000n,
      traceId: new Uint8Array(Buffer.from("0af7651916cd43dd8448eb211c80319c", "hex")),
      spanId: new Uint8Array(Buffer.from("b7ad6b7169203331", "hex")),
      attributes: [
        attribute("order.id", { intValue: 42n }),
        attribute("total", { doubleValue: 1.5 }),
        attribute("vip", { boolValue: true }),
        attribute("tags", { arrayValue: { values: [{ stringValue: "a" }, { intValue: 1n }] } }),
        attribute("nothing", {}),
      ],
    });
  });

  it("writes times of any kind, and now when there is none", async () => {
    const before = BigInt(Date.now()) * 1_000_000n;
    const times = [1.5, 1n, new Date(Number.NaN), -1, undefined as never];
    const records = await emitted(...times.map((timestamp) => ({ body: "x", timestamp })));
    const written = records.map((record) => record["timeUnixNano"] as bigint);
    expect(written.slice(0, 2)).toEqual([1_500_000n, 1n]);
    for (const time of written.slice(2)) expect(time).toBeGreaterThanOrEqual(before);
    for (const record of records) expect(record["observedTimeUnixNano"]).toBeGreaterThanOrEqual(before);
  });

  it("accepts every value that a program logs", async () => {
    const circular: Record<string, unknown> = { name: "loop" };
    circular["self"] = circular;
    let deep: unknown = "bottom";
    for (let i = 0; i < 100; i++) deep = { deep };
    const odd = {
      circular,
      deep,
      date: new Date(0),
      error: new TypeError("bad", { cause: "why" }),
      map: new Map([[1, "one"]]),
      set: new Set(["x"]),
      url: new URL("http://a.example/"),
      big: 2n ** 70n,
      lone: "\ud800",
      fn: () => {},
      symbol: Symbol("s"),
      bytes: new Uint8Array([1, 2]),
      named: JSON.parse('{"__proto__":"strangely"}'),
    };
    const [record] = await emitted({ body: odd, attributes: odd, traceId: "no trace" });
    const texts = JSON.stringify(record, (_key, value) => (typeof value === "bigint" ? String(value) : value));
    for (const part of [
      "[circular]",
      "[too deep]",
      "1970-01-01T00:00:00.000Z",
      "TypeError",
      "why",
      "a.example",
      "strangely",
    ]) {
      expect(texts).toContain(part);
    }
    expect((record!["attributes"] as Tree[]).at(-1)).toEqual(attribute("trace_id", { stringValue: "no trace" }));
  });

  it("leaves out nothing of an error, and tells what is not told by its fields", async () => {
    const error = Object.assign(new AggregateError([new RangeError("inner")], "outer"), { code: "E1", type: "own" });
    const buffer = new Uint8Array([1, 2, 3]).buffer;
    const attributes = new Map<string, unknown>([
      ["error", error],
      ["pattern", /a+/g],
      ["bytes", [buffer, new DataView(buffer, 1, 1)]],
      ["numbers", new Float64Array([1.5])],
      ["boxed", [new String("x"), new Number(5)]],
    ]);
    const [record] = await emitted({ attributes: attributes as never });
    const values = Object.fromEntries(
      (record!["attributes"] as Tree[]).map(({ key, value }) => [key as string, value]),
    );
    const fields = (values["error"] as Tree)["kvlistValue"] as { values: Tree[] };
    expect(fields.values.map(({ key }) => key)).toEqual(["type", "message", "stack", "errors", "code", "error.type"]);
    expect(values).toMatchObject({
      pattern: { stringValue: "/a+/g" },
      bytes: {
        arrayValue: { values: [{ bytesValue: new Uint8Array([1, 2, 3]) }, { bytesValue: new Uint8Array([2]) }] },
      },
      numbers: { arrayValue: { values: [{ doubleValue: 1.5 }] } },
      boxed: { arrayValue: { values: [{ stringValue: "x" }, { intValue: 5n }] } },
    });
  });

  it("takes a record although a value in it cannot be read", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const unreadable = {
      get secret() {
        throw null;
      },
    };
    const [record] = await emitted({ body: "kept", attributes: { proxy, unreadable, fine: 1 } });
    const unread = { stringValue: "[cannot be read]" };
    expect(record!["attributes"]).toEqual([
      attribute("proxy", unread),
      attribute("unreadable", unread),
      attribute("fine", { intValue: 1n }),
    ]);
  });

  it("cuts what is linked to itself in ever more ways, and what is too much", () => {
    const nodes = Array.from({ length: 12 }, () => ({ links: [] as object[] }));
    for (const node of nodes) node.links = nodes.map((other) => ({ other }));
    const text = "x".repeat(100_000);
    const often = Array.from({ length: 1000 }, () => ({ text }));
    for (const value of [nodes, new Array(1e9), often]) {
      const printed = JSON.stringify(telemetryValue(value));
      expect(printed).toContain("[too much]");
      expect(printed.length).toBeLessThan(20_000_000);
    }
  });

  it("takes a record although an attribute of it throws when it is read", async () => {
    const attributes = {
      get order(): never {
        throw new Error("no database");
      },
      fine: 1,
    };
    const [record] = await emitted({ body: "kept", attributes });
    expect(record!["attributes"]).toEqual([
      attribute("order", { stringValue: "[cannot be read]" }),
      attribute("fine", { intValue: 1n }),
    ]);
  });

  it("writes a record whole although its getters emit others", async () => {
    const { batches, components } = keeper();
    const sluice = await started({ config: INTO_KEPT, components });
    const emitting = (body: string) => ({
      get inner() {
        void sluice.logs.emit({ body, attributes: { from: body } });
        return body;
      },
    });
    await sluice.logs.emit({ body: "outer", attributes: { before: 1, ...lazily(emitting("first")), after: 2 } });
    await sluice.logs.emit({ body: emitting("second"), severity: "info", attributes: { after: 2 } });
    await sluice.stop();
    const [first, outer, second, other] = logRecords(batches);
    expect([first!["body"], second!["body"]]).toEqual([{ stringValue: "first" }, { stringValue: "second" }]);
    expect(outer).toMatchObject({
      body: { stringValue: "outer" },
      attributes: [{ key: "before" }, { key: "lazy" }, { key: "after" }],
    });
    expect(other).toMatchObject({ severityText: "info", attributes: [{ key: "after" }] });
  });

  it("runs pipelines outside of the context of the one who emits", async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { components } = keeper(async () => void seen.push(context.getStore()));
    const sluice = await started({ config: INTO_KEPT, components });
    await context.run("a request", () => sluice.logs.emit({ body: 1 }, { failOnError: true }));
    expect(seen).toEqual([undefined]);
  });

  it("writes bytes that the reference decoder reads, for all values", async () => {
    const { batches, components } = keeper();
    const resource = { "service.name": "shop" };
    const sluice = await started({ config: INTO_KEPT, components, resource });
    const value = fc.oneof(fc.string({ unit: anyCharacter }), fc.integer(), fc.double(), fc.bigInt(), fc.jsonValue());
    const record = fc.record({ body: value, attributes: fc.dictionary(fc.string(), value), severity: fc.string() });
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 5 }), async (records) => {
        batches.length = 0;
        await sluice.logs.emit(records, { failOnError: true });
        const [batch] = batches;
        expect(Batch.admit("logs", batch!.bytes).count).toBe(records.length);
        const again = referenceEncode("logs", decodeTree(batch!));
        expect(referenceDecode("logs", batch!.bytes)).toEqual(referenceDecode("logs", again));
      }),
      runs(20),
    );
  });

  it("keeps a record as it was when it was emitted", async () => {
    const { batches, components } = keeper();
    const sluice = await started({ config: INTO_KEPT, components });
    const record = { body: "before" };
    void sluice.logs.emit(record);
    record.body = "after";
    await sluice.stop();
    expect(batches.flatMap(bodies)).toEqual(["before"]);
  });

  it("makes one batch of what is emitted in one turn, and several of very much", async () => {
    const { batches, components } = keeper();
    const sluice = await started({ config: INTO_KEPT, components });
    for (let i = 0; i < 100; i++) void sluice.logs.emit({ body: i });
    await sluice.flush();
    expect(batches.map(({ count }) => count)).toEqual([100]);
    for (let i = 0; i < 10; i++) void sluice.logs.emit({ body: "x".repeat(100_000) });
    await sluice.flush();
    expect(batches.length).toBeGreaterThan(3);
    expect(metric(sluice, ACCEPTED)).toBe(110);
  });

  it("gathers while earlier records are not settled, but not for long", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const sizes: number[] = [];
    const { components } = keeper(async ({ count }) => {
      sizes.push(count);
      await held;
    });
    const sluice = await started({ config: INTO_KEPT, components });
    void sluice.logs.emit({ body: "first" });
    await expect.poll(() => sizes).toEqual([1]);
    void sluice.logs.emit({ body: "second" });
    void sluice.logs.emit({ body: "third" });
    await expect.poll(() => sizes).toEqual([1, 2]);
    release();
    await sluice.stop();
  });

  it("hands over everything before a stop resolves, and refuses what comes after it", async () => {
    const { batches, components } = keeper(async () => {
      await turn();
    });
    const sluice = await started({ config: INTO_KEPT, components });
    for (let i = 0; i < 10; i++) void sluice.logs.emit({ body: i });
    const stopping = sluice.stop();
    await turn();
    await expect(sluice.logs.emit({ body: "late" }, { failOnError: true })).rejects.toMatchObject({
      code: "SLUICE_SHUTTING_DOWN",
    });
    await stopping;
    expect(batches.flatMap(bodies)).toHaveLength(10);
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([10, 1]);
  });

  it("is awaited until the record is in the queue on disk, also by those who are told of no failure", async () => {
    const exporters = { otlp_http: { endpoint: "http://127.0.0.1:1" } };
    const service = { pipelines: { logs: { receivers: ["app"], exporters: ["otlp_http"] } } };
    const sluice = await started({ config: { exporters, service }, queueDirectory: temporaryFolder() });
    const waiting = () => sluice.status().exporters[0]!.queue.items;
    await sluice.logs.emit({ body: 1 });
    expect(waiting()).toBe(1);
    await sluice.logs.emit([{ body: 2 }, { body: "x".repeat(300_000) }, { body: 4 }]);
    expect(waiting()).toBe(4);
  });

  it("reports as refused what a stop could not hand over in time", async () => {
    const { components } = keeper(() => new Promise(() => {}));
    const sluice = await started({ config: INTO_KEPT, components });
    const told = sluice.logs.emit({ body: "stuck" }, { failOnError: true });
    void sluice.logs.emit({ body: "stuck too" });
    await sluice.stop(0);
    await expect(told).rejects.toBeInstanceOf(Refusal);
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([0, 2]);
  });
});

describe("failOnError", () => {
  const failing = () => {
    const refusal = new Refusal("permanent", "never", { code: "NEVER" });
    return keeper(async () => {
      throw refusal;
    });
  };

  it("false swallows what fails, counts and logs it", async () => {
    const { lines, logger } = keptLog();
    const sluice = await started({ config: INTO_KEPT, components: failing().components, logger });
    for (let i = 0; i < 3; i++) {
      await sluice.logs.emit({ body: i });
      await sluice.flush();
    }
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([0, 3]);
    expect(lines.filter((line) => line.includes("records emitted by the program were refused"))).toHaveLength(1);
  });

  it("false counts what fails in silence, by its error; what is told is not among it", async () => {
    const sluice = await make({ config: INTO_KEPT, components: failing().components });
    void sluice.logs.emit({ body: "too early" });
    await sluice.start();
    await sluice.logs.emit([{ body: 1 }, { body: 2 }]);
    await sluice.flush();
    await expect(sluice.logs.emit({ body: 3 }, { failOnError: true })).rejects.toMatchObject({ code: "NEVER" });
    const silent = sluice.metrics().filter(({ name }) => name === "sluice_silent_failures");
    expect(silent.map((sample) => [sample.attributes, "value" in sample && sample.value])).toEqual([
      [{ error_class: "SLUICE_NOT_STARTED" }, 1],
      [{ error_class: "NEVER" }, 2],
    ]);
  });

  it("true rejects with the refusal: of the instance, of a scope, of a call", async () => {
    const { components } = failing();
    const quiet = await started({ config: INTO_KEPT, components });
    const loud = await started({ config: INTO_KEPT, components: failing().components, failOnError: true });
    await expect(loud.logs.emit({ body: 1 })).rejects.toMatchObject({ code: "NEVER" });
    await expect(loud.logs.emit({ body: 1 }, { failOnError: false })).resolves.toBeUndefined();
    await expect(quiet.logs.emit({ body: 1 }, { failOnError: true })).rejects.toMatchObject({ code: "NEVER" });
    await quiet.withFailOnError(true, async () => {
      await turn();
      await expect(quiet.logs.emit({ body: 1 })).rejects.toMatchObject({ code: "NEVER" });
      await expect(quiet.logs.emit({ body: 1 }, { failOnError: false })).resolves.toBeUndefined();
      await quiet.withFailOnError(false, () => expect(quiet.logs.emit({ body: 1 })).resolves.toBeUndefined());
      await expect(loud.withFailOnError(false, () => loud.logs.emit({ body: 1 }))).resolves.toBeUndefined();
    });
    await expect(quiet.logs.emit({ body: 1 })).resolves.toBeUndefined();
  });

  it("causes no unhandled rejection when the promise is ignored", async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", listener);
    const config = { ...INTO_KEPT, exporters: { kept: {}, otlp_http: { endpoint: "http://127.0.0.1:1" } } };
    const sluice = await make({ config, components: failing().components, failOnError: true });
    void sluice.logs.emit({ body: "too early" });
    await sluice.start();
    void sluice.logs.emit({ body: "refused" });
    void sluice.logs.emit(null as never);
    await sluice.stop();
    void sluice.logs.emit({ body: "too late" });
    void sluice.start();
    await turn();
    await turn();
    process.off("unhandledRejection", listener);
    expect(unhandled).toEqual([]);
  });

  it("says what is wrong with a record, and takes the others", async () => {
    const { batches, components } = keeper();
    const sluice = await started({ config: INTO_KEPT, components });
    const bad = {
      get body(): string {
        throw new Error("no body today");
      },
    };
    const told = sluice.logs.emit([{ body: "one" }, bad, { body: "two" }], { failOnError: true });
    await expect(told).rejects.toMatchObject({ code: "SLUICE_BAD_RECORD", kind: "permanent" });
    await expect(sluice.logs.emit("text" as never, { failOnError: true })).rejects.toThrow("object with a body");
    expect(batches.flatMap(bodies)).toEqual(["one", "two"]);
  });

  it("never throws for any value given as a list", async () => {
    const sluice = await started({ config: INTO_KEPT, components: keeper().components });
    const revoked = Proxy.revocable([] as LogInput[], {});
    revoked.revoke();
    const throwing = Object.assign([{ body: 1 }], {
      [Symbol.iterator]() {
        throw new Error("no list today");
      },
    });
    const holes: LogInput[] = new Array(1);
    for (const list of [revoked.proxy, throwing as never, holes]) {
      await sluice.logs.emit(list);
      const told = sluice.logs.emit(list, { failOnError: true });
      await expect(told).rejects.toMatchObject({ code: "SLUICE_BAD_RECORD" });
    }
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([0, 6]);
  });

  it("says what to write when no pipeline reads what is emitted", async () => {
    const config = { ...INTO_KEPT, service: { pipelines: { traces: INTO_KEPT.service.pipelines.logs } } };
    const sluice = await started({ config, components: keeper().components });
    await expect(sluice.logs.emit({ body: 1 }, { failOnError: true })).rejects.toThrow(
      "write service.pipelines.logs.receivers: [app]",
    );
  });

  it("refuses what is over the limit of the intake, and takes on when there is room again", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { batches, components } = keeper(() => held);
    const config = { ...INTO_KEPT, service: { ...INTO_KEPT.service, intake: { max_bytes: "10KiB" } } };
    const sluice = await started({ config, components });
    const body = "x".repeat(1000);
    for (let i = 0; i < 20; i++) void sluice.logs.emit({ body });
    await expect(sluice.logs.emit({ body }, { failOnError: true })).rejects.toMatchObject({
      code: "SLUICE_OVERLOADED",
      kind: "throttled",
    });
    release();
    await sluice.flush();
    await sluice.logs.emit({ body }, { failOnError: true });
    await sluice.stop();
    const taken = logRecords(batches).length;
    expect(taken).toBe(10);
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([taken, 22 - taken]);
    expect(metric(sluice, "sluice_intake_bytes")).toBe(0);
  });
});
