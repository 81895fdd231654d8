import { gzipSync } from "node:zlib";
import { isMalformed } from "../../../src/plugin.js";
import { countRecords, readEvent } from "../../../src/receivers/fluent-forward/forward-event.js";
import { MessagePackError, ValueScanner } from "../../../src/receivers/fluent-forward/message-pack.js";
import { entryMessage } from "../../../src/receivers/redis-stream/stream-entry.js";
import { readMessage, wholeMessage } from "../../../src/runtime/brokers/messages/read-message.js";
import { DecompressError } from "../../../src/runtime/codecs/compression/bounded-output.js";
import { LogBatchWriter } from "../../../src/runtime/logs/entries/log-batch-writer.js";
import { EventTime, pack } from "../../receivers/fluent-forward/pack.js";
import { assert, type FuzzTarget, magnitude, shapeOf } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { mutateBytes } from "../mutate-bytes.js";
import { textMutator } from "../mutate-text.js";

const TIME = new EventTime(1_700_000_000, 5);
const RECORD = { message: "a line", level: "warn", n: -7, big: 2n ** 63n, f: 0.5, o: { a: [1, null, true] }, log: "x" };
const ENTRIES = [
  [TIME, RECORD],
  [[1_700_000_000, { meta: "data" }], { log: "b" }],
] as const;
const PACKED = Buffer.concat(ENTRIES.map((entry) => pack(entry)));

const forwardTarget: FuzzTarget = {
  name: "Fluentd's events",
  share: 8,
  seeds: [
    pack(["app.tag", 1_700_000_000, RECORD, { chunk: "one" }]),
    pack(["app.tag", ENTRIES, { chunk: "two", size: 2 }]),
    pack(["app.tag", PACKED, null]),
    pack(["app.tag", gzipSync(PACKED), { compressed: "gzip", chunk: Buffer.from("three"), size: 2 }]),
  ],
  mutate: mutateBytes,
  run: runEvent,
};

/** One event, read as a connection does it; an event that cannot be read leaves no records. */
async function runEvent(input: Buffer): Promise<string> {
  const writer = new LogBatchWriter(Buffer.alloc(0), Buffer.alloc(0), 1024);
  let reserved = 0;
  const reserve = (bytes: number) => (reserved += bytes) < 32 * 1024 * 1024;
  let outcome: string;
  try {
    const end = new ValueScanner(0).end(input, input.length);
    if (end === undefined) return "incomplete";
    const event = input.subarray(0, end);
    const { acknowledgement } = await readEvent(event, reserve, writer);
    assert(countRecords(event).isUnattended === (acknowledgement === undefined), "an acknowledgement is not expected");
    outcome = `${magnitude(writer.count)} records, ${acknowledgement === undefined ? "no" : "an"} acknowledgement`;
  } catch (error) {
    if (!(error instanceof MessagePackError || error instanceof DecompressError)) throw error;
    assert(writer.count === 0, "an unreadable event leaves records");
    outcome = shapeOf(error.message);
  }
  if (writer.count > 0) holdToOtlp(writer.finish());
  return outcome;
}

const messageTarget: FuzzTarget = {
  name: "messages of brokers",
  share: 4,
  seeds: [
    Buffer.from('payload\n{"a":[1,-2.5e3,"\\ud83d\\ude00",null,{"b":true}]}\nx-trace\nabc'),
    Buffer.from("payload\nx"),
  ],
  mutate: textMutator([...'{}[]:,"\n', "null", "1e400", "payload", "__proto__", "x-idempotency-key"]),
  run: runMessage,
};

/** The fields of a stream entry, one per line. Whatever they are, the message is kept: read, or whole as a dead letter. */
function runMessage(input: Buffer): string {
  const fields = input.toString("latin1").split("\n");
  const entry = { id: "1700000000000-0", fields: fields.map((field) => Buffer.from(field, "latin1")) };
  const message = entryMessage(entry, "stream", "payload");
  const outcomes = (["text", "raw", "json"] as const).map((encoding) => {
    try {
      const batch = readMessage("logs", encoding, message, "in");
      holdToOtlp(batch);
      return `${batch.count} in ${magnitude(batch.byteLength)}`;
    } catch (error) {
      assert(isMalformed(error), `threw ${error}`);
      return shapeOf((error as Error).message);
    }
  });
  for (const signal of ["logs", "traces", "metrics"] as const) holdToOtlp(wholeMessage(signal, message, "in"));
  return outcomes.join();
}

/** Events and messages that become log records. */
export const eventTargets: readonly FuzzTarget[] = [forwardTarget, messageTarget];
