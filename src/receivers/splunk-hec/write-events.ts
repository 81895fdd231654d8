import { Batch } from "#otlp";
import { MAX_VALUE_DEPTH, WireWriter, writeKeyValueBody, writeList } from "#otlp/bytes";
import {
  DATA_POINT_TAG,
  DATA_POINT_TIME_TAG,
  GAUGE_TAG,
  METRIC_NAME_TAG,
  NUMBER_ATTRIBUTES_TAG,
  NUMBER_DOUBLE_TAG,
} from "#otlp/metric-tags";
import type { Signal } from "#otlp/signals";
import {
  BOOL_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  ELEMENT_TAG,
  KVLIST_VALUE_TAG,
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_TIME_TAG,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  STRING_VALUE_TAG,
} from "#otlp/tags";
import { goNumber } from "#text/go";
import type { HecAttributeNames } from "./config.js";
import { HecError } from "./hec-answers.js";
import { numberOf, type ReceivedEvent } from "./hec-event.js";

type HecOwner = Pick<ReceivedEvent, "host" | "source" | "sourcetype" | "index">;

const TOKEN_ATTRIBUTE = "com.splunk.hec.access_token";

interface OwnedEvents {
  readonly owner: HecOwner;
  readonly items: WireWriter;
}

/** Points repeat the dimensions of their event, and resources repeat the token. Together each may take this many bytes. */
const MAX_REPEATED_BYTES = 64 * 1024 * 1024;
/** An event is written in one go. */
const MAX_REPEATED_IN_EVENT = 16 * 1024 * 1024;
/** Up to this many kinds of metadata are compared with those of an event, which is faster than making a key. */
const FEW_OWNERS = 8;
/** A request may have a million kinds of metadata. This many are kept apart, lest all of them are written in one go. */
const MAX_OWNERS = 1000;

/** The scope containers of a request, one for each combination of metadata. */
class OwnedItems {
  private readonly names: HecAttributeNames;
  private readonly token: string;
  private readonly owners = new Map<string, OwnedEvents>();
  private first: OwnedEvents[] = [];
  private readonly out = new WireWriter();
  private resources = 0;

  constructor(names: HecAttributeNames, token: string) {
    this.names = names;
    this.token = token;
  }

  /** The writer of the scope container for events with this metadata. */
  itemsOf(owner: HecOwner): WireWriter {
    for (const each of this.first) if (isSame(each.owner, owner)) return each.items;
    const key = JSON.stringify([owner.host, owner.source, owner.sourcetype, owner.index]);
    let known = this.owners.get(key);
    if (known === undefined) {
      if (this.owners.size === MAX_OWNERS) this.writeOwners();
      known = { owner, items: new WireWriter(this.owners.size < FEW_OWNERS ? 1024 : 64) };
      this.owners.set(key, known);
      if (this.first.length < FEW_OWNERS) this.first.push(known);
    }
    return known.items;
  }

  /** Throws a `HecError` if the request would become too long. */
  finish(signal: Signal, count: number): Batch[] {
    if (count === 0) return [];
    this.writeOwners();
    return [Batch.trusted(signal, Buffer.from(this.out.written()), count)];
  }

  /** Writes the containers so far; events that are added later have others, even if their metadata is the same. */
  private writeOwners(): void {
    this.resources += this.owners.size;
    if (this.resources * this.token.length > MAX_REPEATED_BYTES) throw HecError.invalidFormat();
    let size = 0;
    for (const { items } of this.owners.values()) size += items.length + 200;
    const writer = this.out;
    writer.reserve(size);
    for (const { owner, items } of this.owners.values()) {
      writer.byte(RESOURCE_CONTAINER_TAG);
      writer.begin(items.length + 100);
      writer.byte(OWNER_TAG);
      writer.begin(100);
      for (const [name, value] of this.attributesOf(owner))
        writeAttribute(writer, RESOURCE_ATTRIBUTES_TAG, name, value);
      writer.end();
      writer.byte(SCOPE_CONTAINER_TAG);
      writer.lengthDelimited(items.written());
      writer.end();
    }
    this.owners.clear();
    this.first = [];
  }

  /** Two kinds of metadata may go to the same attribute, which has the value of the last. */
  private attributesOf({ host, source, sourcetype, index }: HecOwner): Map<string, string> {
    const { names, token } = this;
    const attributes: [name: string, value: string][] = [
      [names.host, host],
      [names.source, source],
      [names.sourcetype, sourcetype],
      [names.index, index],
      [TOKEN_ATTRIBUTE, token],
    ];
    return new Map(attributes.filter(([, value]) => value !== ""));
  }
}

function isSame(a: HecOwner, b: HecOwner): boolean {
  return a.host === b.host && a.source === b.source && a.sourcetype === b.sourcetype && a.index === b.index;
}

/** Writes events as log records. */
export class HecLogWriter {
  private readonly owned: OwnedItems;
  private count = 0;

  constructor(names: HecAttributeNames, token: string) {
    this.owned = new OwnedItems(names, token);
  }

  add(event: ReceivedEvent): void {
    const writer = this.owned.itemsOf(event);
    this.count++;
    writer.byte(SCOPE_ITEM_TAG);
    writer.begin(200);
    if (event.time > 0) {
      writer.byte(LOG_TIME_TAG);
      writer.fixed64OfNumber(event.time);
    }
    writer.byte(LOG_BODY_TAG);
    writer.begin(typeof event.event === "string" ? event.event.length + 3 : 200);
    writeHecValue(writer, event.event, MAX_VALUE_DEPTH);
    writer.end();
    for (const key of sortedKeys(event.fields)) writeAttribute(writer, LOG_ATTRIBUTES_TAG, key, event.fields[key]);
    writer.end();
  }

  finish(): Batch[] {
    return this.owned.finish("logs", this.count);
  }
}

/** Writes the metrics of events, each as a gauge of one point. */
export class HecMetricWriter {
  private readonly owned: OwnedItems;
  /** Those of the current event. */
  private readonly dimensions = new WireWriter();
  /** The bytes of the dimensions of all points. */
  private size = 0;
  private count = 0;

  constructor(names: HecAttributeNames, token: string) {
    this.owned = new OwnedItems(names, token);
  }

  /**
   * Values that are no numbers are left out. Throws a `HecError` if a short event would become very long, because it has
   * many metrics and many dimensions.
   */
  add(event: ReceivedEvent, metrics: readonly (readonly [name: string, value: unknown])[]): void {
    if (metrics.length === 0) return;
    const { dimensions } = this;
    dimensions.clear();
    for (const [key, field] of Object.entries(event.fields)) {
      if (key === "" || key === "_value" || key.startsWith("metric_name") || field === null) continue;
      writeAttribute(dimensions, NUMBER_ATTRIBUTES_TAG, key, goText(field));
    }
    const repeated = dimensions.length * metrics.length;
    this.size += repeated;
    for (const [name, value] of metrics) {
      const number = typeof value === "string" ? numberOf(value) : value;
      if (typeof number !== "number") continue;
      if (repeated > MAX_REPEATED_IN_EVENT || this.size > MAX_REPEATED_BYTES) throw HecError.invalidFormat();
      this.addPoint(event, name, number);
    }
  }

  finish(): Batch[] {
    return this.owned.finish("metrics", this.count);
  }

  private addPoint(event: ReceivedEvent, name: string, value: number): void {
    const writer = this.owned.itemsOf(event);
    this.count++;
    writer.byte(SCOPE_ITEM_TAG);
    writer.begin(200);
    writer.byte(METRIC_NAME_TAG);
    writer.text(name);
    writer.byte(GAUGE_TAG);
    writer.begin(150);
    writer.byte(DATA_POINT_TAG);
    writer.begin(150);
    if (event.time > 0) {
      writer.byte(DATA_POINT_TIME_TAG);
      writer.fixed64OfNumber(event.time);
    }
    writer.byte(NUMBER_DOUBLE_TAG);
    writer.double(value);
    writer.copy(this.dimensions.bytes, 0, this.dimensions.length);
    writer.end();
    writer.end();
    writer.end();
  }
}

function writeAttribute(
  writer: WireWriter,
  tag: number,
  key: string,
  value: unknown,
  depth: number = MAX_VALUE_DEPTH,
): void {
  writer.byte(tag);
  writer.begin(typeof value === "string" ? key.length + value.length + 8 : key.length + 16);
  writeKeyValueBody(writer, key, value, depth, writeHecValue);
  writer.end();
}

/** Writes a value of JSON as the body of an AnyValue: numbers as doubles, maps with their keys in order. */
function writeHecValue(writer: WireWriter, value: unknown, depth: number): void {
  if (depth === 0) throw HecError.invalidFormat();
  if (typeof value === "string") {
    writer.byte(STRING_VALUE_TAG);
    writer.text(value);
  } else if (typeof value === "number") {
    writer.byte(DOUBLE_VALUE_TAG);
    writer.double(value);
  } else if (typeof value === "boolean") {
    writer.byte(BOOL_VALUE_TAG);
    writer.byte(value ? 1 : 0);
  } else if (Array.isArray(value)) writeList(writer, value, depth - 1, writeHecValue);
  else if (typeof value === "object" && value !== null)
    writeSortedMap(writer, value as Readonly<Record<string, unknown>>, depth - 1);
}

function writeSortedMap(writer: WireWriter, map: Readonly<Record<string, unknown>>, depth: number): void {
  writer.byte(KVLIST_VALUE_TAG);
  writer.begin(200);
  for (const key of sortedKeys(map)) writeAttribute(writer, ELEMENT_TAG, key, map[key], depth);
  writer.end();
}

/** Keys are mostly few or in order already. */
function sortedKeys(map: Readonly<Record<string, unknown>>): string[] {
  const keys = Object.keys(map);
  for (let i = 1; i < keys.length; i++) if (keys[i]! < keys[i - 1]!) return keys.sort();
  return keys;
}

/** A dimension of a metric as text, written as Go writes values. */
function goText(value: unknown): string {
  if (typeof value === "number") return goNumber(value);
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  return value === null ? "<nil>" : String(value);
}
