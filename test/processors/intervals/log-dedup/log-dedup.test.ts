import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Batch, type Delivery, type Origin, Refusal } from "../../../../src/plugin.js";
import { logDedup } from "../../../../src/processors/intervals/log-dedup/component.js";
import { decodeTree, encodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { owed } from "../../../support/deliveries.js";
import { notesInMemory, processing } from "../../../support/processors.js";
import { runs } from "../../../support/runs.js";
import { attributes, text } from "../../../support/telemetry/ottl.js";
import { recordsOf } from "../../../support/telemetry/trees.js";

const S = 1000;
const body = (value: string): Tree => ({ body: { stringValue: value } });

function logsOf(records: readonly Tree[], service = "shop"): Batch {
  const resource = { attributes: attributes({ "service.name": text(service) }) };
  const scopeLogs = [{ scope: { name: "s" }, logRecords: [...records] }];
  return encodeTree("logs", { resourceLogs: [{ resource, scopeLogs }] });
}

function deduping(config: object = {}, more: Parameters<typeof processing>[3] = {}) {
  const made = processing(logDedup, config, "logs", more);
  const send = (batch: Batch, origin: Partial<Origin> = {}) => {
    const { delivery, outcomes } = owed(batch, origin);
    made.source.next(delivery);
    return outcomes;
  };
  return { ...made, send };
}

const plain = ({ value }: Tree) => Object.values(value as Tree)[0];

/** The attributes of a record. */
function attributesOf(record: Tree): Record<string, unknown> {
  const list = (record["attributes"] ?? []) as Tree[];
  return Object.fromEntries(list.map((one) => [one["key"] as string, plain(one)]));
}

const records = (out: readonly Delivery[]) =>
  out.flatMap(({ batch }) => recordsOf("logs", decodeTree(batch)).map(({ record }) => record));

/** `body xCount` of every record that came out. */
const counts = (out: readonly Delivery[]) =>
  records(out).map(
    (record) => `${plain({ value: record["body"] ?? {} })} x${attributesOf(record)["log_count"] ?? "-"}`,
  );

describe("log_dedup", () => {
  it("passes on one of several equal records after the interval, with their number and times", () => {
    const { send, clock, out } = deduping();
    const started = clock.now();
    const first = send(logsOf([body("a"), body("b"), body("a")]));
    clock.advance(4 * S);
    const second = send(logsOf([body("a")]));
    clock.advance(6 * S - 1);
    expect(out).toEqual([]);
    clock.advance(1);
    expect(counts(out)).toEqual(["a x3", "b x1"]);
    const [a] = records(out);
    const seconds = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
    expect(attributesOf(a!)).toMatchObject({
      first_observed_timestamp: seconds(started),
      last_observed_timestamp: seconds(started + 4 * S),
    });
    expect(a).toMatchObject({
      timeUnixNano: BigInt(started + 10 * S) * 1_000_000n,
      observedTimeUnixNano: BigInt(started) * 1_000_000n,
    });
    expect([...first, ...second]).toEqual([]);
    for (const delivery of out) delivery.accept();
    expect([...first, ...second]).toMatchObject([{ ok: true }, { ok: true }]);
  });

  it("begins again after each interval", () => {
    const { send, clock, out } = deduping({ interval: "1s" });
    send(logsOf([body("a"), body("a")]));
    clock.advance(S);
    send(logsOf([body("a")]));
    clock.advance(S);
    expect(counts(out)).toEqual(["a x2", "a x1"]);
  });

  it("refuses all requests whose records are in what was refused", () => {
    const { send, clock, out } = deduping();
    const outcomes = [send(logsOf([body("a")])), send(logsOf([body("b")]))];
    clock.advance(10 * S);
    for (const delivery of out) delivery.refuse(new Refusal("transient", "busy"));
    expect(outcomes.map(([outcome]) => outcome!.ok)).toEqual([false, false]);
  });

  it("passes on what waits when it ends", async () => {
    const { send, source, out, isComplete } = deduping();
    send(logsOf([body("a"), body("a")]));
    source.complete();
    await expect.poll(isComplete).toBe(true);
    expect(counts(out)).toEqual(["a x2"]);
  });

  it("settles nothing when it is aborted", () => {
    const { send, clock, unsubscribe, out } = deduping();
    const outcomes = send(logsOf([body("a")]));
    unsubscribe();
    clock.advance(60 * S);
    expect([...out, ...outcomes]).toEqual([]);
  });

  it("passes on early when more bytes wait than max_bytes allows", () => {
    const batch = logsOf([body("a"), body("a")]);
    const { send, out } = deduping({ max_bytes: batch.byteLength * 2 });
    send(batch);
    send(batch);
    expect(out).toEqual([]);
    send(batch);
    expect(counts(out)).toEqual(["a x6"]);
  });

  it("cuts what it passes on into batches of about a megabyte, and settles requests when all were accepted", async () => {
    const { send, source, out, isComplete } = deduping();
    const long = "x".repeat(100_000);
    const outcomes = send(logsOf(Array.from({ length: 40 }, (_, i) => body(`${i} ${long}`))));
    source.complete();
    await expect.poll(isComplete).toBe(true);
    expect(out.length).toBeGreaterThan(2);
    expect(records(out)).toHaveLength(40);
    for (const { batch } of out) expect(batch.byteLength).toBeLessThan(1.3 * 1024 * 1024);
    for (const delivery of out.slice(1)) delivery.accept();
    expect(outcomes).toEqual([]);
    out[0]!.accept();
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("writes times in its time zone", () => {
    const { send, clock, out } = deduping({ timezone: "Asia/Kolkata" });
    send(logsOf([body("a")]));
    clock.advance(10 * S);
    expect(attributesOf(records(out)[0]!)["first_observed_timestamp"]).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:30$/,
    );
  });

  it("counts requests with different metadata apart, and keeps the metadata", () => {
    const { send, clock, out } = deduping({ metadata_keys: ["Tenant"] });
    const of = (tenant: string) => ({ metadata: new Map([["tenant", [tenant]]]) });
    send(logsOf([body("a")]), of("red"));
    send(logsOf([body("a")]), of("blue"));
    send(logsOf([body("a")]), of("red"));
    clock.advance(10 * S);
    expect(counts(out)).toEqual(["a x2", "a x1"]);
    expect(out.map(({ origin }) => origin.metadata?.get("tenant"))).toEqual([["red"], ["blue"]]);
  });

  it("passes on what waits if there are more combinations of metadata than allowed", () => {
    const { send, out } = deduping({ metadata_keys: ["tenant"], metadata_cardinality_limit: 2 });
    for (const tenant of ["red", "blue", "green"])
      send(logsOf([body(tenant)]), { metadata: new Map([["tenant", [tenant]]]) });
    expect(counts(out)).toEqual(["red x1", "blue x1"]);
  });

  describe("with conditions", () => {
    const config = { conditions: ['IsMatch(body, "^a")'] };

    it("passes other records on at once, and settles a request when both parts were accepted", () => {
      const { send, clock, out } = deduping(config);
      const outcomes = send(logsOf([body("a"), body("b"), body("a")]));
      expect(counts(out)).toEqual(["b x-"]);
      out[0]!.accept();
      expect(outcomes).toEqual([]);
      clock.advance(10 * S);
      expect(counts(out.slice(1))).toEqual(["a x2"]);
      out[1]!.accept();
      expect(outcomes).toMatchObject([{ ok: true }]);
    });

    it("passes a request without equal records on as the same batch", () => {
      const { send, out } = deduping(config);
      const batch = logsOf([body("b")]);
      send(batch);
      expect(out[0]!.batch).toBe(batch);
    });

    it("does not pass records on again that were accepted before a crash", () => {
      const notes = notesInMemory();
      const batch = logsOf([body("a"), body("b")]);
      const before = deduping(config, { journal: notes.open() });
      before.send(batch, { position: 7 });
      before.send(batch, { position: 8 });
      before.out[0]!.accept();
      expect(counts(before.out)).toEqual(["b x-", "b x-"]);
      before.unsubscribe();
      const after = deduping(config, { journal: notes.open() });
      after.send(batch, { position: 7 });
      after.send(batch, { position: 8 });
      expect(counts(after.out)).toEqual(["b x-"]);
      after.clock.advance(10 * S);
      expect(counts(after.out.slice(1))).toEqual(["a x2"]);
    });

    it("leaves only waiting records to a dead letter once the others were accepted", () => {
      const notes = notesInMemory();
      const batch = logsOf([body("a"), body("b")]);
      const { send, out } = deduping(config, { journal: notes.open() });
      send(batch, { position: 7 });
      expect(notes.settlement!.remaining(7, batch)).toBe(batch);
      out[0]!.accept();
      const remaining = notes.settlement!.remaining(7, batch);
      expect(recordsOf("logs", decodeTree(remaining)).map(({ record }) => record)).toMatchObject([body("a")]);
      notes.settlement!.ended(7);
      expect(notes.settlement!.remaining(7, batch)).toBe(batch);
    });
  });

  it("removes excluded fields inside maps, and keeps everything beside them", () => {
    const { send, clock, out } = deduping({
      exclude_fields: ["body.user.id", "attributes.req\\.id", "attributes.x.y"],
    });
    const map = (entries: Tree) => ({
      kvlistValue: { values: Object.entries(entries).map(([key, value]) => ({ key, value: value as Tree })) },
    });
    const record = (id: string) => ({
      body: map({ user: map({ id: text(id), name: text("n") }), n: { intValue: 1n } }),
      attributes: attributes({ "req.id": text(id), x: map({ y: text(id), z: text("z") }), host: text("h") }),
      eventName: "e",
    });
    send(logsOf([record("1"), record("2"), body("another")]));
    clock.advance(10 * S);
    const [only, ...others] = records(out);
    expect(others).toMatchObject([body("another")]);
    expect(only).toMatchObject({ body: map({ user: map({ name: text("n") }), n: { intValue: 1n } }), eventName: "e" });
    expect((only!["attributes"] as Tree[]).slice(0, 2)).toEqual(
      attributes({ x: map({ z: text("z") }), host: text("h") }),
    );
  });

  it("counts every record of any mixture exactly once", () => {
    const words = fc.array(fc.array(fc.constantFrom("a", "b", "c", ""), { minLength: 1, maxLength: 8 }), {
      minLength: 1,
      maxLength: 5,
    });
    const law = fc.property(words, (batches) => {
      const { send, clock, out } = deduping();
      for (const batch of batches) send(logsOf(batch.map(body)));
      clock.advance(10 * S);
      const expected = new Map<string, number>();
      for (const word of batches.flat()) expected.set(word, (expected.get(word) ?? 0) + 1);
      expect(counts(out).sort()).toEqual([...expected].map(([word, count]) => `${word} x${count}`).sort());
    });
    fc.assert(law, runs(100));
  });

  it("passes on early when very many kinds of records wait", async () => {
    const { send, out } = deduping({ max_bytes: "1GiB" });
    const [batches, kinds] = [6, 40_000];
    for (let i = 0; i < batches; i++)
      send(logsOf(Array.from({ length: kinds }, (_, j) => body(String(i * kinds + j)))));
    await expect.poll(() => out.length).toBeGreaterThan(0);
  });
});
