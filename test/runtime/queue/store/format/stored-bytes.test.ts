import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { batchFromJson } from "../../../../../src/plugin.js";
import type { Entry } from "../../../../../src/runtime/contract/operations/entry.js";
import { newMeta } from "../../../../../src/runtime/queue/store/format/entry.js";
import { META_KEY, seal } from "../../../../../src/runtime/queue/store/format/layout.js";
import { Transaction } from "../../../../../src/runtime/queue/store/level/transaction.js";
import type { NewEntry } from "../../../../../src/runtime/queue/store/store.js";

/** The keys and values that an earlier build wrote for the same changes, one line of hex for each write. */
const EXPECTED = new URL("stored-bytes.txt", import.meta.url);

function newEntry(text: string, fields?: NewEntry["fields"]): NewEntry {
  const logRecords = [{ timeUnixNano: "1", body: { stringValue: text } }];
  return {
    batch: batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })),
    pipeline: "logs",
    source: { receiver: "otlp", transport: "http", metadata: { "user-agent": "test" } },
    enqueuedAt: 1_700_000_000_000,
    generation: "1",
    ...(fields && { fields }),
  };
}

function failed(entry: Entry): Entry {
  const error = { kind: "permanent", class: "HTTP 400", code: "400", message: "no", status: 400 } as const;
  const failure = { at: 1_700_000_001_000, reason: "permanent", category: "schema", error, signature: "0123456789ab" };
  return { ...entry, calls: 1, attempts: 1, lastError: error, failure: { ...failure, names: [] } } as unknown as Entry;
}

/** One change of each kind. Counters are left out: a version may count more than the one before. */
function writtenLines(): string[] {
  const lines: string[] = [];
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
  const isCounter = (key: Uint8Array) => Buffer.compare(key, META_KEY) === 0;
  const writer = {
    put: (key: Uint8Array, value: Uint8Array) => isCounter(key) || lines.push(`put ${hex(key)} ${hex(seal(value))}`),
    del: (key: Uint8Array) => lines.push(`del ${hex(key)}`),
  };
  const meta = { ...newMeta("otlp_http/out"), tag: "0123456789abcdef", store: "0123456789abcdef" };
  const transaction = new Transaction(writer, meta, () => undefined);
  const first = transaction.put(newEntry("first"), undefined);
  const keyed = transaction.put(newEntry("keyed", { id: "k-0011223344556677" }), "k-0011223344556677");
  transaction.put(newEntry("x".repeat(300)), undefined);
  transaction.update(first.ref, { ...first.entry, calls: 2, attempts: 2 });
  transaction.fail(keyed.ref, failed(keyed.entry));
  const [replayed] = transaction.replay(new Map([[keyed.ref, { ...keyed.entry, replays: 1 }]]));
  transaction.fail(replayed!.ref, failed(replayed!.entry));
  transaction.replace(first.ref, [newEntry("left half"), newEntry("right half")], []);
  transaction.putNote(7, { owner: "sampler", after: 2, bytes: Buffer.from("note") });
  transaction.removeNote(7);
  transaction.remove(replayed!.ref);
  transaction.finish(false);
  return lines;
}

it("writes the same bytes as an earlier build, so that either can go on with the other's queues", () => {
  expect(writtenLines()).toEqual(readFileSync(EXPECTED, "utf8").trim().split("\n"));
});
