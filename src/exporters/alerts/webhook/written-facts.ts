import { isUtf8 } from "node:buffer";
import { viewOf, WireWriter } from "#otlp/bytes";
import { ownedRecords } from "#otlp/json";
import type { Steps } from "#work";
import type { Batch } from "../../../plugin.js";
import { type AlertFacts, factsOf } from "../record-facts.js";
import { FactWriter } from "./fact-writer.js";

/** The names of facts, in their order in JSON. */
export const FACT_NAMES = [
  ...(["signal", "name", "body", "attributes", "resource", "scope", "service", "severity", "severity_number"] as const),
  ...(["time", "trace_id", "span_id", "kind", "status", "status_message", "exceptions", "record"] as const),
  "dead_letter",
] as const satisfies readonly (keyof AlertFacts)[];

export type FactName = (typeof FACT_NAMES)[number];

/** Each label but the first begins with a comma. */
const LABELS = FACT_NAMES.map((name, i) => viewOf(Buffer.from(`${i === 0 ? "{" : ","}"${name}":`)));

/** The number of places kept for a record. */
const PLACES = FACT_NAMES.length + 1;

const COMMA = 44;
const CLOSE_OBJECT = 125;

/** The facts of the records of a batch as JSON, separated by commas. */
export class WrittenFacts {
  readonly json: Uint8Array;
  /** For each record, its start and the end of each of its facts. */
  private readonly places: Uint32Array;

  constructor(json: Uint8Array, places: Uint32Array) {
    this.json = json;
    this.places = places;
  }

  get count(): number {
    return this.places.length / PLACES;
  }

  /** Returns all facts of a record. */
  of(record: number): Uint8Array {
    const first = record * PLACES;
    return this.json.subarray(this.places[first], this.places[first + FACT_NAMES.length]! + 1);
  }

  /** Returns one fact of a record. */
  fact(record: number, name: FactName): Uint8Array {
    const i = FACT_NAMES.indexOf(name);
    const at = record * PLACES + i;
    return this.json.subarray(this.places[at]! + LABELS[i]!.byteLength, this.places[at + 1]);
  }
}

/**
 * Writes the facts of every record of a batch, in order; for metrics, of every data point. `out` is used in place of new
 * memory if given. One record may have facts of many megabytes, so other work gets its turn between facts.
 */
export function* writeFacts(batch: Batch, out = new WireWriter(batch.byteLength * MEAN_GROWTH)): Steps<WrittenFacts> {
  if (batch.signal === "metrics") return writePlainFacts(batch);
  out.clear();
  const writer = new FactWriter(batch, out);
  const places = new Uint32Array(batch.count * PLACES);
  let record = 0;
  for (const { owner, start, end } of ownedRecords(batch)) {
    writer.read(start, end, owner);
    for (let fact = 0; (fact = writeRecord(out, places, record, writer, fact)) < FACT_NAMES.length; ) yield;
    record++;
  }
  const json = out.written();
  if (json.length > STEP_BYTES) yield;
  return isUtf8(json) ? new WrittenFacts(json, places) : writePlainFacts(batch);
}

/** The facts of a record are about this many times as long as its share of the batch. */
export const MEAN_GROWTH = 6;

function writePlainFacts(batch: Batch): WrittenFacts {
  const out = new WireWriter(batch.byteLength * MEAN_GROWTH);
  const all = factsOf(batch);
  const places = new Uint32Array(all.length * PLACES);
  for (const [i, facts] of all.entries()) {
    const write = (name: FactName) => {
      const json = Buffer.from(JSON.stringify(facts[name]));
      out.copy(json, 0, json.length);
    };
    for (let fact = 0; (fact = writeRecord(out, places, i, { write }, fact)) < FACT_NAMES.length; );
  }
  return new WrittenFacts(out.written(), places);
}

/** A record with more bytes of facts is written in several steps. */
const STEP_BYTES = 1024 * 1024;

/** Writes the facts of a record, beginning with this one. Stops after a long one, and returns which is the next. */
function writeRecord(
  out: WireWriter,
  places: Uint32Array,
  record: number,
  writer: { write(name: FactName): void },
  from = 0,
): number {
  const first = record * PLACES;
  const stepEnd = out.length + STEP_BYTES;
  if (from === 0) {
    if (record > 0) out.byte(COMMA);
    places[first] = out.length;
  }
  for (let i = from; i < FACT_NAMES.length; i++) {
    const label = LABELS[i]!;
    out.copyView(label, 0, label.byteLength);
    writer.write(FACT_NAMES[i]!);
    places[first + i + 1] = out.length;
    if (out.length > stepEnd && i + 1 < FACT_NAMES.length) return i + 1;
  }
  out.byte(CLOSE_OBJECT);
  return FACT_NAMES.length;
}
