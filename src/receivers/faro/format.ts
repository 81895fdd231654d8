import { encodeAttributes, LogBatchWriter, newLogMap } from "#logs/entries";
import { ResourceStamp } from "#otlp";
import { batchFromJsonInSteps } from "#otlp/json";
import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import {
  type FormatAnswer,
  joinPieces,
  type ReceivedHead,
  type RequestBatches,
  type RequestFormat,
  standardRefusals,
} from "#receiving/requests";
import { type JsonBounds, JsonReader } from "#text/json";
import type { Steps } from "#work";
import { type Batch, MalformedError, type ReceiverContext } from "../../plugin.js";
import { type FaroJson, FaroObject, unreadablePayload } from "./faro-object.js";
import { addRecord, type FaroList, MetaLine } from "./log-lines.js";

const JSON_TYPE = "application/json";
const TAKEN: FormatAnswer = { status: 202, body: "" };
const PREFLIGHT: FormatAnswer = {
  status: 200,
  headers: ["Access-Control-Allow-Methods", "POST, OPTIONS", "Access-Control-Allow-Headers", "Content-Type"],
  body: "",
};
/** A record and the metadata are parsed in one go, and what is in the metadata is written for every record. */
const BOUNDS: JsonBounds = { maxValues: 10_000, maxBytes: 1024 * 1024 };
/** The SDK sends six. Other members are skipped. */
const MAX_MEMBERS = 1000;
/** Every record repeats the metadata, so a request with much metadata and many records may grow to this only. */
const MAX_BATCH_BYTES = 64 * 1024 * 1024;
/** The order of the records, as in the Collector. */
const LISTS: readonly FaroList[] = ["logs", "exceptions", "measurements", "events"];

/** Payloads of Faro: JSON with lists of records, OTLP/JSON of spans, and metadata for all of them. */
export function faroFormat(context: ReceiverContext): RequestFormat {
  const refusals = standardRefusals("a payload of Faro", JSON_TYPE);
  return {
    refusals,
    encodingOf: (contentType) => (contentType === JSON_TYPE ? "other" : undefined),
    answerHead: ({ method }: ReceivedHead) => (method === "OPTIONS" ? PREFLIGHT : undefined),
    answerError: ({ httpStatus, message }) => refusal(httpStatus, message),
    *toBatches(_head, _encoding, pieces, maxElements): Steps<RequestBatches> {
      const payload = new FaroPayload(joinPieces(pieces), maxElements);
      const { logs, traces } = context.intakes;
      const spans = traces === undefined ? undefined : yield* payload.spans();
      const records = logs === undefined ? undefined : yield* payload.records(context.clock.now());
      return { batches: [records, spans].filter((batch) => batch !== undefined), success: TAKEN };
    },
  };
}

function refusal(code: number, message: string): FormatAnswer {
  const { STATUS_CODES } = process.getBuiltinModule("node:http");
  const body = `${JSON.stringify({ error: STATUS_CODES[code] ?? "", code, message })}\n`;
  return { status: code, contentType: JSON_TYPE, body };
}

/** One request. Its methods throw a `MalformedError` if it is no payload of Faro. */
class FaroPayload {
  private readonly json: Buffer;
  private readonly maxElements: number;
  /** The bytes of the members, by name. Of several with the same name the last counts. */
  private readonly members: ReadonlyMap<string, Buffer>;
  private readonly meta: FaroObject;

  constructor(json: Buffer, maxElements: number) {
    this.json = json;
    this.maxElements = maxElements;
    this.members = this.readMembers();
    const meta = this.members.get("meta");
    this.meta = new FaroObject(meta === undefined ? undefined : (readerOf(meta).next() as FaroJson), "meta");
  }

  private readMembers(): Map<string, Buffer> {
    const members = new Map<string, Buffer>();
    const values = readerOf(this.json);
    let count = 0;
    for (const name of values.members()) {
      if (++count > MAX_MEMBERS) throw unreadablePayload("it has too many members");
      values.skip();
      members.set(name, this.json.subarray(values.start, values.end));
    }
    values.expectEnd();
    return members;
  }

  /** The spans, with the attributes of the app; undefined if there are none. */
  *spans(): Steps<Batch | undefined> {
    const json = this.members.get("traces");
    if (json === undefined || json.equals(NULL)) return undefined;
    const batch = yield* batchFromJsonInSteps("traces", json, this.maxElements);
    return batch.count === 0 ? undefined : new ResourceStamp(appAttributes(this.meta), "always").apply(batch);
  }

  /** The other lists as log records; undefined if they are empty. */
  *records(observedMs: number): Steps<Batch | undefined> {
    const meta = new MetaLine(this.meta);
    const writer = new LogBatchWriter(this.resource(), new Uint8Array(0), this.json.length + 256);
    writer.observedAt(observedMs);
    for (const list of LISTS)
      for (const record of this.elements(list)) {
        addRecord(writer, list, record, meta);
        if (writer.count > this.maxElements || writer.byteLength > MAX_BATCH_BYTES)
          throw new MalformedError("the request has too many records; send it in parts", -1);
        yield;
      }
    return writer.count === 0 ? undefined : writer.finish();
  }

  private resource(): Uint8Array {
    const attributes = newLogMap();
    for (const [name, value] of appAttributes(this.meta)) attributes[name] = value;
    const bundle = this.meta.object("app").text("bundleId");
    if (bundle !== "") attributes["app_bundle_id"] = bundle;
    return encodeAttributes(attributes, RESOURCE_ATTRIBUTES_TAG);
  }

  private *elements(list: FaroList): Generator<FaroObject> {
    const json = this.members.get(list);
    if (json === undefined || json.equals(NULL)) return;
    const values = readerOf(json, `${list}: `);
    let index = 0;
    for (const _ of values.elements()) yield new FaroObject(values.next() as FaroJson, `${list}[${index++}]`);
    values.expectEnd();
  }
}

const NULL = Buffer.from("null");

function readerOf(json: Buffer, place = ""): JsonReader {
  return new JsonReader(json, (reason) => unreadablePayload(`${place}${reason}`), BOUNDS);
}

/** Attributes of the resource. The first three are there even if they are empty, as in the Collector. */
function appAttributes(meta: FaroObject): Map<string, string> {
  const app = meta.object("app");
  const attributes = new Map([
    ["service.name", app.text("name")],
    ["service.version", app.text("version")],
    ["deployment.environment", app.text("environment")],
  ]);
  const namespace = app.text("namespace");
  if (namespace !== "") attributes.set("service.namespace", namespace);
  return attributes;
}
