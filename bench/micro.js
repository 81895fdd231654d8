import { randomBytes } from "node:crypto";
import { Subject } from "rxjs";
import { bearerTokenAuth } from "../dist/extensions/auth/bearer/component.js";
import {
  Batch,
  batchFromJson,
  batchToJson,
  decodeTree,
  eachRecord,
  editRecords,
  encodeTree,
  readRecords,
  splitBatch,
} from "../dist/plugin.js";
import { DETECTORS } from "../dist/processors/pii/detect/text/detectors.js";
import { PiiTreatment } from "../dist/processors/pii/pii-treatment.js";
import { systemClock } from "../dist/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../dist/runtime/contract/observability.js";
import { authenticate, authMetadata } from "../dist/runtime/net/auth/authenticate.js";
import { httpAuthRequest } from "../dist/runtime/net/auth/server-auth-request.js";
import { findAttribute } from "../dist/runtime/otlp/bytes/key-value.js";
import { LOG_ATTRIBUTES_TAG } from "../dist/runtime/otlp/bytes/tags.generated.js";
import { KEEP, RecordWalk } from "../dist/runtime/otlp/views/record-walk.js";
import { compileCondition, compileStatement } from "../dist/runtime/ottl/compile/compile.js";
import { dropWhere, transformBatch } from "../dist/runtime/ottl/compile/run.js";
import { createQueueKey, Keyring } from "../dist/runtime/queue/store/encryption/keyring.js";
import { ValueCipher } from "../dist/runtime/queue/store/encryption/value-cipher.js";
import { frame } from "../dist/runtime/queue/store/format/layout.js";
import { Debt, Delivery } from "../dist/testing.js";
import { jsonRequest, NUMBER_IN_EACH, protoRequest } from "./lib/load/records.js";
import { stamp, tokenOffsets } from "./lib/load/token.js";

/**
 * Cases about work on the bytes of one batch: the time of `run`, which handles all records at once, is divided by their
 * number. Its result is used, so that nothing is optimised away; it must satisfy `expect`, if given.
 *
 * To measure something new, add a case.
 *
 * @typedef {{ name: string, run(): unknown, expect?(answer: any): boolean }} Case
 */
export const BASELINE = "copy the batch";

const USER_ID = Buffer.from("user.id");

/** @param {number} records in the batch @returns {Case[]} */
export function cases(records) {
  const bytes = protoRequest("logs", records);
  const json = jsonRequest("logs", records);
  const batch = Batch.admit("logs", bytes);
  const tree = decodeTree(batch);
  const halves = splitBatch(batch, { records: Math.ceil(records / 2) });
  const condition = compileCondition('attributes["user.id"] == "nobody"', "log");
  const statement = compileStatement('set(attributes["user.id"], "redacted")', "log");
  const treatment = new PiiTreatment({
    isEnforced: true,
    detectors: new Map(DETECTORS.map((name) => [name, "mask"])),
    patterns: [],
    hashKey: undefined,
    fields: new Map(),
    secretKeys: "mask",
    summary: "silent",
    jsonBodies: false,
  });
  const clean = renewed(records, 0);
  const personal = renewed(records, 1000);
  const counting = Array.from({ length: 16 }, (_, request) =>
    Batch.admit("logs", protoRequest("logs", records, 0, request, NUMBER_IN_EACH)),
  );
  let turn = 0;
  const key = createQueueKey("bench", randomBytes(32));
  const cipher = new ValueCipher(new Keyring([key], key));
  cipher.bindTo(randomBytes(8));
  const value = Buffer.from(frame("p", 1, 0, {}, [bytes]));
  const encrypted = Buffer.from(cipher.encrypt(value));
  const all = (/** @type {number} */ n) => n === records;
  return [
    { name: BASELINE, run: () => Buffer.from(bytes), expect: (copy) => copy.equals(bytes) },
    { name: "check and count (Batch.admit)", run: () => Batch.admit("logs", bytes).count, expect: all },
    { name: "recognise a client (a request each)", run: recogniseClient(records), expect: all },
    { name: "walk and count", run: () => visit(batch, new Counter()), expect: all },
    { name: "find 6th of 10 attributes, cursor", run: () => visit(batch, new Finder()), expect: all },
    { name: "find 6th of 10 attributes, view", run: () => findWithViews(batch), expect: all },
    {
      name: "edit 6th of 10 attributes, view",
      run: () => editRecords(batch, (record) => void record.attributes.set("user.id", "redacted")),
      expect: (edited) => edited.count === records && edited !== batch,
    },
    {
      name: "edit 6th of 10 attributes, eachRecord",
      run: through(batch, (record) => record.attributes.set("user.id", "redacted")),
      expect: (edited) => edited.count === records && edited !== batch,
    },
    {
      name: "filter on 6th of 10 attributes, OTTL",
      run: () => dropWhere(batch, [condition]),
      expect: (kept) => kept === batch,
    },
    {
      name: "set 6th of 10 attributes, OTTL",
      run: () => transformBatch(batch, [statement]),
      expect: (edited) => edited.count === records && edited !== batch,
    },
    {
      name: "look for personal data, none there",
      run: () => treatment.treat(clean.next()),
      expect: (same) => same === clean.batch,
    },
    {
      name: "look for personal data, bodies differ in numbers",
      run: () => treatment.treat(/** @type {Batch} */ (counting[turn++ % counting.length])),
      expect: (same) => counting.includes(same),
    },
    {
      name: "treat personal data in every record",
      run: () => treatment.treat(personal.next()),
      expect: (treated) => treated.count === records && treated !== personal.batch,
    },
    {
      name: "drop every second record",
      run: () => dropEverySecond(batch),
      expect: (kept) => kept.count === Math.ceil(records / 2),
    },
    {
      name: "split in ten",
      run: () => splitBatch(batch, { records: Math.ceil(records / 10) }),
      expect: (pieces) =>
        pieces.reduce((/** @type {number} */ n, /** @type {Batch} */ b) => n + b.count, 0) === records,
    },
    { name: "encrypt as one value", run: () => cipher.encrypt(value).length, expect: (size) => size > bytes.length },
    {
      name: "decrypt one value",
      run: () => cipher.decrypt(encrypted).length,
      expect: (size) => size === value.length,
    },
    { name: "merge two and join", run: () => Batch.merge(halves).bytes, expect: (joined) => joined.length > 0 },
    { name: "decode to a tree", run: () => decodeTree(batch) },
    { name: "encode a tree", run: () => encodeTree("logs", tree), expect: (made) => made.count === records },
    { name: "to OTLP/JSON", run: () => batchToJson(batch), expect: (text) => text.length > bytes.length },
    { name: "from OTLP/JSON", run: () => batchFromJson("logs", json).count, expect: all },
    { name: "JSON.parse alone", run: () => JSON.parse(json.toString()), expect: (o) => o.resourceLogs.length === 1 },
  ];
}

/**
 * A batch with new tokens each time, for code that remembers fields it has seen.
 *
 * @param {number} records @param {number} hits
 */
function renewed(records, hits) {
  const bytes = protoRequest("logs", records, 0, 0, hits);
  const offsets = tokenOffsets(bytes);
  const batch = Batch.admit("logs", bytes);
  let request = 0;
  const next = () => {
    stamp(bytes, offsets, 0, request++);
    return batch;
  };
  return { batch, next };
}

/**
 * Sends a batch through the processor that a plugin would make from the function; returns its output.
 *
 * @param {Batch} batch @param {(record: import("../dist/plugin.js").AnyRecordView) => any} edit
 */
function through(batch, edit) {
  const source = new Subject();
  /** @type {Delivery | undefined} */
  let out;
  eachRecord(edit)(source).subscribe((delivery) => {
    out = delivery;
  });
  return () => {
    source.next(new Delivery(batch, { receiver: "bench", transport: "" }, new Debt(undefined)));
    return out?.batch;
  };
}

/** @param {Batch} batch @param {{ n: number, visit: any }} visitor */
function visit(batch, visitor) {
  new RecordWalk(batch).run(visitor);
  return visitor.n;
}

class Counter {
  n = 0;
  visit() {
    this.n++;
    return KEEP;
  }
}

class Finder {
  n = 0;
  visit(/** @type {RecordWalk} */ walk, /** @type {number} */ start, /** @type {number} */ end) {
    if (findAttribute(walk.bytes, start, end, LOG_ATTRIBUTES_TAG, USER_ID) >= 0) this.n++;
    return KEEP;
  }
}

function findWithViews(/** @type {Batch} */ batch) {
  let found = 0;
  readRecords(batch, (record) => {
    if (record.attributes.get("user.id") === "u-00481516") found++;
  });
  return found;
}

function dropEverySecond(/** @type {Batch} */ batch) {
  let n = 0;
  return editRecords(batch, () => (n++ % 2 === 0 ? "keep" : "drop"));
}

/**
 * The cost of authentication for a known client on a kept connection: as many requests as there are records. Each has
 * its own header string, as in Node.js.
 *
 * @param {number} requests
 */
function recogniseClient(requests) {
  const token = "t".repeat(64);
  const services = { logger: silentLogger, metrics: noMetrics, clock: systemClock, random: Math.random };
  const context = { id: "bearertokenauth", kind: /** @type {const} */ ("extension"), ...services };
  const config = bearerTokenAuth.schema.parse({ token });
  const { serverAuthenticator } = bearerTokenAuth.create(config, { ...context, host: { state: "ready" } });
  const socket = { remoteAddress: "192.0.2.1" };
  const heads = Array.from({ length: requests }, () => {
    const shown = Buffer.from(`Bearer ${token}`).toString("latin1");
    const others = ["Host", "gateway:4318", "Content-Type", "application/x-protobuf", "Content-Length", "1234"];
    return /** @type {any} */ ({ rawHeaders: [...others, "Authorization", shown], socket });
  });
  return () => {
    let known = 0;
    for (const head of heads) {
      const client = /** @type {any} */ (authenticate(/** @type {any} */ (serverAuthenticator), httpAuthRequest(head)));
      if (authMetadata(client).has("auth.subject")) known += 1;
    }
    return known;
  };
}
