import fc from "fast-check";
import { expect, it } from "vitest";
import { KnownStreams } from "../../../src/exporters/loki/known-streams.js";
import { pushesOf } from "../../../src/exporters/loki/push-requests.js";
import { StreamLabels } from "../../../src/exporters/loki/stream-labels.js";
import { Batch, encodeTree, type Tree } from "../../../src/plugin.js";
import { decompress } from "../../../src/runtime/codecs/compression/decompress.js";
import { SliceTimer } from "../../../src/runtime/work/turns.js";
import { liveHeap } from "../../support/live-heap.js";
import { runs } from "../../support/runs.js";
import { request } from "../../support/telemetry/telemetry-arbitraries.js";
import { Dice, rewritten } from "../../support/telemetry/wire-forms.js";
import { readPush } from "./loki-server.js";
import { plainPushes } from "./plain-pushes.js";

const HINTS = ["loki.attribute.labels", "loki.resource.labels", "loki.format", "loki.tenant"];
const KEYS = ["level", "a", "a.b", "service.name", "service.namespace", "tenant", "ü"];
const VALUES = ["json", "raw", "logfmt", "a", "a.b, a", "tenant", "é", "ü", "x", "k=1 b=2"];

/** Gives attributes keys that affect labels, and values that hints may have. */
function withHints(tree: Tree, dice: Dice): Tree {
  const visit = (value: unknown, isAttributes: boolean): unknown => {
    if (Array.isArray(value)) return value.map((each) => visit(each, isAttributes));
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
    const pick = <T>(list: readonly T[]) => list[dice.upTo(list.length - 1)]!;
    if (isAttributes && dice.upTo(3) > 0) {
      const isHint = dice.upTo(3) === 0;
      const other = (value as Tree)["value"] ?? {};
      return {
        key: pick(isHint ? HINTS : KEYS),
        value: isHint || dice.upTo(2) > 0 ? { stringValue: pick(VALUES) } : other,
      };
    }
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, visit(each, name === "attributes")]));
  };
  return visit(tree, false) as Tree;
}

/** Makes every é invalid UTF-8. */
function broken(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf("é"); at >= 0; at = copy.indexOf("é", at + 1)) copy[at] = 0xff;
  return copy;
}

const NOW = 1_700_000_000_123;
const settings = {
  exporter: fc.boolean(),
  job: fc.boolean(),
  instance: fc.boolean(),
  level: fc.boolean(),
  attributes: fc.constantFrom([], [["a.b", "ab"] as const, ["a", "a"] as const], [["ü", "u"] as const]),
  resource: fc.constantFrom([], [["service.name", "service"] as const]),
};

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, each]) => [key, sorted(each)]);
};
/** Shuffles the members of an object. */
const read = (line: string): unknown => {
  try {
    return sorted(JSON.parse(line));
  } catch {
    return line;
  }
};

async function pushed(batch: Batch, streams: KnownStreams) {
  const { pushes, refused } = pushesOf(batch, { streams, now: () => NOW });
  const found: Record<string, Record<string, unknown[]>> = {};
  const records: number[] = [];
  for (const push of pushes) {
    records.push(...push.records);
    const body = await decompress("snappy", await push.encode(new SliceTimer()), { limit: 1e8, reserve: () => true });
    for (const { labels, entries } of readPush(body)) {
      const lines = entries.map(({ time, line }) => [time.replace(/\.0*(?=\d)/, "."), read(line)]);
      ((found[push.tenant] ??= {})[labels] ??= []).push(...lines);
    }
  }
  return { pushed: found, refused: [...refused.values()].flat().sort((a, b) => a - b), records };
}

it("pushes the same as an implementation with plain objects, whatever the form of the bytes", async () => {
  await fc.assert(
    fc.asyncProperty(
      request("logs"),
      fc.record(settings),
      fc.constantFrom("json" as const, "raw" as const, "logfmt" as const),
      fc.record({ shuffled: fc.boolean(), unknown: fc.boolean(), padded: fc.boolean(), repeated: fc.boolean() }),
      fc.boolean(),
      fc.integer(),
      async (tree, labelSettings, format, oddities, isBroken, seed) => {
        const { bytes } = encodeTree("logs", withHints(tree, new Dice(seed)));
        const odd = rewritten("logs", bytes, oddities, seed);
        const batch = Batch.admit("logs", isBroken ? broken(odd) : odd);
        const labels = new StreamLabels(labelSettings);
        const streams = new KnownStreams({ labels, format });
        const plain = plainPushes(batch, labels, format, NOW);
        const expected = Object.fromEntries(
          Object.entries(plain.pushed).map(([tenant, byLabels]) => [
            tenant,
            Object.fromEntries(
              Object.entries(byLabels).map(([text, lines]) => [text, lines.map(([time, line]) => [time, read(line!)])]),
            ),
          ]),
        );
        // The second time, everything is cached.
        for (const { records, ...found } of [await pushed(batch, streams), await pushed(batch, streams)]) {
          expect(found).toEqual({ pushed: expected, refused: plain.refused });
          const all = [...records, ...found.refused].sort((a, b) => a - b);
          expect(all).toEqual(Array.from({ length: batch.count }, (_, i) => i));
        }
      },
    ),
    runs(60),
  );
});

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const logs = (...records: Tree[]) => encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: records }] }] });
const NONE = { exporter: false, job: false, instance: false, level: false, attributes: [], resource: [] };

it("keeps bounded memory for labels, hints and resources, however many and however long they are", async () => {
  const labels = new StreamLabels({ ...NONE, attributes: [["id", "id"]] });
  const streams = new KnownStreams({ labels, format: "json" });
  const small = Array.from({ length: 500 }, (_, i) => attribute(`hint-${i}`, "x"));
  const resource = { attributes: [attribute("large", "x".repeat(500_000)), ...small] };
  const record = (i: number) => ({
    attributes: [attribute("id", `${i}`), attribute("loki.resource.labels", `hint-${i}`)],
  });
  const live = () => liveHeap() + process.memoryUsage().arrayBuffers;
  const before = live();
  const logRecords = Array.from({ length: 500 }, (_, i) => record(i));
  const batch = encodeTree("logs", { resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] });
  const { pushes } = pushesOf(batch, { streams, now: () => NOW });
  for (const push of pushes.slice(0, 20)) await push.encode(new SliceTimer());
  expect(live() - before).toBeLessThan(60_000_000);
});

it("writes the last of several attributes with the same key, however many there are", async () => {
  const many = Array.from({ length: 200 }, (_, i) => attribute(`k${i % 150}`, `${i}`));
  const streams = new KnownStreams({ labels: new StreamLabels({ ...NONE, exporter: true }), format: "json" });
  const batch = logs(
    { attributes: [attribute("a", "1"), attribute("b", "2"), attribute("a", "3")] },
    { attributes: many },
  );
  const { pushes } = pushesOf(batch, { streams, now: () => NOW });
  const body = await decompress("snappy", await pushes[0]!.encode(new SliceTimer()), {
    limit: 1e8,
    reserve: () => true,
  });
  const lines = readPush(body)[0]!.entries.map(({ line }) => line);
  expect(lines[0]).toBe('{"attributes":{"a":"3","b":"2"}}');
  expect(JSON.parse(lines[1]!).attributes).toEqual(
    Object.fromEntries(many.map(({ key, value }) => [key, value.stringValue])),
  );
});

it("keeps bounded memory for large resources that repeat", async () => {
  const streams = new KnownStreams({ labels: new StreamLabels({ ...NONE, exporter: true }), format: "json" });
  const resource = { attributes: [attribute("large", "x".repeat(100_000))] };
  const batch = encodeTree("logs", { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [{}] }] }] });
  const live = () => liveHeap() + process.memoryUsage().arrayBuffers;
  const before = live();
  for (let i = 0; i < 100; i++)
    for (const push of pushesOf(batch, { streams, now: () => NOW }).pushes) await push.encode(new SliceTimer());
  expect(live() - before).toBeLessThan(8_000_000);
});

it("replaces invalid UTF-8 in each line, even if it would be valid together with the next line", async () => {
  const streams = new KnownStreams({ labels: new StreamLabels({ ...NONE, exporter: true }), format: "raw" });
  const halves = logs({ body: { stringValue: "1234" } }, { body: { stringValue: "5678" } });
  const bytes = Buffer.from(halves.bytes);
  bytes.set(Buffer.from("é").subarray(0, 1), bytes.indexOf("4"));
  bytes.set(Buffer.from("é").subarray(1), bytes.indexOf("5"));
  const { pushes } = pushesOf(Batch.admit("logs", bytes), { streams, now: () => NOW });
  const body = await decompress("snappy", await pushes[0]!.encode(new SliceTimer()), {
    limit: 1e8,
    reserve: () => true,
  });
  expect(Buffer.from(body).includes("123\ufffd")).toBe(true);
  expect(readPush(body)[0]!.entries.map(({ line }) => line)).toEqual(["123\ufffd", "\ufffd678"]);
});

it.each([
  ["with a key that comes twice", ["a", "a"]],
  ["with many keys", Array.from({ length: 70 }, (_, i) => `k${i}`)],
])("writes maps in maps %s as fast as others", async (_, keys) => {
  let value: Tree = { stringValue: "innermost" };
  for (let depth = 0; depth < 60; depth++) {
    const values = [{ key: "inner", value }, ...keys.map((key) => attribute(key, "x"))];
    value = { kvlistValue: { values } } as Tree;
  }
  const streams = new KnownStreams({ labels: new StreamLabels({ ...NONE, exporter: true }), format: "raw" });
  const { pushes } = pushesOf(logs({ body: value }), { streams, now: () => NOW });
  expect((await pushes[0]!.encode(new SliceTimer())).length).toBeGreaterThan(60);
});

it("handles hints with tens of thousands of names, and as many labels, in linear time", async () => {
  const names = Array.from({ length: 40_000 }, (_, i) => `k${i}`);
  const streams = new KnownStreams({ labels: new StreamLabels(NONE), format: "json" });
  const hint = attribute("loki.attribute.labels", names.join(","));
  const batch = logs({ attributes: [hint, attribute("rest", "1"), ...names.map((name) => attribute(name, "v"))] });
  const { pushes } = pushesOf(batch, { streams, now: () => NOW });
  const body = await decompress("snappy", await pushes[0]!.encode(new SliceTimer()), {
    limit: 1e8,
    reserve: () => true,
  });
  const [{ labels, entries } = expect.unreachable()] = readPush(body);
  expect(labels).toContain('k39999="v"');
  expect(entries.map(({ line }) => line)).toEqual(['{"attributes":{"rest":"1"}}']);
});

it("looks up names of hints in linear time and memory, however many dots they have", () => {
  const streams = new KnownStreams({ labels: new StreamLabels({ ...NONE, exporter: true }), format: "json" });
  const live = () => liveHeap() + process.memoryUsage().arrayBuffers;
  const before = live();
  const hint = (text: string) =>
    pushesOf(logs({ attributes: [attribute("loki.attribute.labels", text)] }), { streams, now: () => NOW });
  expect(hint("a.".repeat(300_000)).pushes).toHaveLength(1);
  for (let i = 0; i < 100; i++) hint(Array.from({ length: 50 }, (_, n) => `${"a.".repeat(100)}${i}.${n}`).join());
  expect(live() - before).toBeLessThan(50_000_000);
});
