import { isUtf8 } from "node:buffer";
import { WireWriter } from "#otlp/bytes";
import { ownedRecords } from "#otlp/json";
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
const LABELS = FACT_NAMES.map((name, i) => Buffer.from(`${i === 0 ? "{" : ","}"${name}":`));

const COMMA = 44;
const CLOSE_OBJECT = 125;

/** The facts of the records of a batch as JSON, separated by commas. */
export class WrittenFacts {
  readonly json: Uint8Array;
  /** For each record, its start and the end of each of its facts. */
  private readonly places: readonly Uint32Array[];

  constructor(json: Uint8Array, places: readonly Uint32Array[]) {
    this.json = json;
    this.places = places;
  }

  get count(): number {
    return this.places.length;
  }

  /** Returns all facts of a record. */
  of(record: number): Uint8Array {
    const places = this.places[record]!;
    return this.json.subarray(places[0], places[FACT_NAMES.length]! + 1);
  }

  /** Returns one fact of a record. */
  fact(record: number, name: FactName): Uint8Array {
    const places = this.places[record]!;
    const i = FACT_NAMES.indexOf(name);
    return this.json.subarray(places[i]! + LABELS[i]!.length, places[i + 1]);
  }
}

/** Writes the facts of every record of a batch, in order; for metrics, of every data point. */
export function writeFacts(batch: Batch): WrittenFacts {
  if (batch.signal === "metrics") return writePlainFacts(batch);
  const out = new WireWriter(batch.byteLength * MEAN_GROWTH);
  const writer = new FactWriter(batch, out);
  const places: Uint32Array[] = [];
  for (const { owner, start, end } of ownedRecords(batch)) {
    writer.read(start, end, owner);
    places.push(writeRecord(out, places.length === 0, (name) => writer.write(name)));
  }
  const json = out.written();
  return isUtf8(json) ? new WrittenFacts(json, places) : writePlainFacts(batch);
}

/** The facts of a record are about this many times as long as its share of the batch. */
const MEAN_GROWTH = 6;

function writePlainFacts(batch: Batch): WrittenFacts {
  const out = new WireWriter(batch.byteLength * MEAN_GROWTH);
  const places = factsOf(batch).map((facts, i) =>
    writeRecord(out, i === 0, (name) => {
      const json = Buffer.from(JSON.stringify(facts[name]));
      out.copy(json, 0, json.length);
    }),
  );
  return new WrittenFacts(out.written(), places);
}

function writeRecord(out: WireWriter, isFirst: boolean, write: (name: FactName) => void): Uint32Array {
  if (!isFirst) out.byte(COMMA);
  const places = new Uint32Array(FACT_NAMES.length + 1);
  places[0] = out.length;
  for (let i = 0; i < FACT_NAMES.length; i++) {
    const label = LABELS[i]!;
    out.copy(label, 0, label.length);
    write(FACT_NAMES[i]!);
    places[i + 1] = out.length;
  }
  out.byte(CLOSE_OBJECT);
  return places;
}
