import { compress } from "#codecs/compression";
import {
  batchToJsonBytesInSteps,
  jsonText,
  ownedRecords,
  plainValue,
  plainValueText,
  treeAttributes,
} from "#otlp/json";
import { formatTime, parseGoLayout, UTC } from "#text";
import { inTurns, type Steps } from "#work";
import { type Batch, Refusal } from "../../plugin.js";

/** The formats of objects. Only `otlp_json` and `otlp_proto` are for all signals; the others are for logs. */
export const MARSHALERS = ["otlp_json", "otlp_proto", "body", "sumo_ic"] as const;
type Marshaler = (typeof MARSHALERS)[number];

export const OBJECT_COMPRESSIONS = ["none", "gzip", "zstd"] as const;
type ObjectCompression = (typeof OBJECT_COMPRESSIONS)[number];

const FILE_FORMATS = { otlp_json: "json", otlp_proto: "binpb", body: "txt", sumo_ic: "json" } as const;
const COMPRESSION_EXTENSIONS = { none: "", gzip: ".gz", zstd: ".zst" } as const;
const CONTENT_TYPES = {
  otlp_json: "application/json",
  otlp_proto: "application/x-protobuf",
  body: "text/plain",
  sumo_ic: "application/x-ndjson",
} as const;

/** Encodes batches as objects. */
export class ObjectBody {
  /** Such as `json.gz`. */
  readonly extension: string;
  readonly contentType: string;
  /** Undefined if the object is meant to stay compressed when it is downloaded. */
  readonly contentEncoding: "gzip" | "zstd" | undefined;
  private readonly marshaler: Marshaler;
  private readonly compression: ObjectCompression;

  constructor(marshaler: Marshaler, compression: ObjectCompression) {
    this.marshaler = marshaler;
    this.compression = compression;
    this.extension = `${FILE_FORMATS[marshaler]}${COMPRESSION_EXTENSIONS[compression]}`;
    this.contentType = CONTENT_TYPES[marshaler];
    this.contentEncoding = compression === "none" || marshaler === "sumo_ic" ? undefined : compression;
  }

  /**
   * Encodes the batch in as many turns of the event loop as it needs. Rejects with a permanent `Refusal` if the format
   * cannot express the records.
   */
  async encode(batch: Batch): Promise<Uint8Array> {
    const plain = await inTurns(this.marshal(batch));
    return this.compression === "none" ? plain : compress(this.compression, plain);
  }

  private *marshal(batch: Batch): Steps<Uint8Array> {
    switch (this.marshaler) {
      case "otlp_json":
        return yield* batchToJsonBytesInSteps(batch);
      case "otlp_proto":
        return batch.bytes;
      case "body":
        return yield* joinedLines(bodyLines(batch));
      case "sumo_ic":
        return yield* joinedLines(sumoLines(batch));
    }
  }
}

/** Lines are gathered up to this length before they are encoded, in characters. */
const GATHERED_LENGTH = 65_536;

function* joinedLines(lines: Iterable<string>): Steps<Buffer> {
  const pieces: Buffer[] = [];
  let gathered = "";
  for (const line of lines) {
    gathered += line;
    if (gathered.length >= GATHERED_LENGTH) {
      pieces.push(Buffer.from(gathered));
      gathered = "";
    }
    yield;
  }
  return Buffer.concat([...pieces, Buffer.from(gathered)]);
}

/** One line per record, with the text of its body. */
function* bodyLines(batch: Batch): Iterable<string> {
  for (const { tree } of ownedRecords(batch)) yield `${plainValueText(plainValue(tree["body"] as never))}\n`;
}

const SUMO_NAMES = ["_sourceName", "_sourceHost", "_sourceCategory"] as const;
/** How Go writes a time. */
const GO_TIME = parseGoLayout("2006-01-02 15:04:05.999999999 -0700 MST");

/** The archive format of Sumo Logic's installed collector: one JSON object per line. */
function* sumoLines(batch: Batch): Iterable<string> {
  let known: unknown;
  let head = "";
  for (const { tree, owner } of ownedRecords(batch)) {
    if (owner.resource !== known) head = sumoHead(owner.resource);
    known = owner.resource;
    const nanos = BigInt((tree["observedTimeUnixNano"] as bigint | string | undefined) ?? 0);
    const message = { ...treeAttributes(tree), log: plainValue(tree["body"] as never) };
    yield `{"date": "${formatTime(GO_TIME, { nanos, zone: UTC })}",${head},"message":${goJson(message)}}\n`;
  }
}

function sumoHead(resource: Readonly<Record<string, unknown>>): string {
  const missing = SUMO_NAMES.find((name) => !Object.hasOwn(resource, name));
  if (missing !== undefined)
    throw new Refusal("permanent", `the resource has no attribute ${missing}, which sumo_ic needs`, {
      category: "schema",
    });
  const [name, host, category] = SUMO_NAMES.map((key) => JSON.stringify(plainValueText(resource[key])));
  const others = Object.entries(resource).filter(([key]) => !(SUMO_NAMES as readonly string[]).includes(key));
  const fields = goJson(Object.fromEntries(others));
  return `"sourceName":${name},"sourceHost":${host},"sourceCategory":${category},"fields":${fields}`;
}

/** JSON as Go writes a map: keys in order, and no characters that HTML would take for markup. */
function goJson(values: Readonly<Record<string, unknown>>): string {
  const sorted = Object.fromEntries(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)));
  return jsonText(sorted).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
