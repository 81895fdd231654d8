import { ByteTable } from "#metrics";
import { isHeader } from "#net";
import { encodedKey, fieldTag, stepOver, valueAt, varint, WireWriter } from "#otlp/bytes";
import {
  findKeyAndValue,
  jsonText,
  KeySet,
  keyEnd,
  keyStart,
  type PlainAttributes,
  plainAttributes,
  plainValueText,
} from "#otlp/json";
import { LOG_ATTRIBUTES_TAG, LOG_SEVERITY_NUMBER_TAG, RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import { MAX_RESTS, type ResourceRest, restOf } from "./resource-rest.js";
import { HINT_NAMES, HINT_PREFIX, HINTS, LINE_FORMATS, type LokiFormat, type StreamLabels } from "./stream-labels.js";

/** The header that names the tenant. */
export const TENANT_HEADER = "X-Scope-OrgID";

/** Properties that are shared by all records with the same resource, labels and hints. */
export interface Stream {
  /** The reason why Loki could not accept the records in any form. */
  readonly problem: string | undefined;
  /** Empty if no hint names a tenant. */
  readonly tenant: string;
  readonly format: LokiFormat;
  /** The labels as Loki writes them. */
  readonly labels: string;
  /** Keys of attributes that are left out of lines: labels and hints. */
  readonly leftOut: KeySet;
  /** Keys of the labels as texts. */
  readonly taken: ReadonlySet<string>;
  readonly resource: ResourceRest;
}

/** A resource, and the plan that finds the streams of its records without hints. */
export interface KnownResource {
  readonly attributes: PlainAttributes;
  /** Length of the attributes as JSON text. */
  readonly length: number;
  readonly plan: StreamPlan;
  /** The plans for records with hints are stored under this number. */
  readonly id: number;
  /** The remaining attributes for the first streams, by the keys taken out. */
  readonly rests: Map<string, ResourceRest>;
}

/** The attributes that determine the stream of records with the same resource and hints. */
interface StreamPlan {
  readonly id: number;
  /** Keys of these attributes; undefined if all attributes matter. */
  readonly keys: KeySet | undefined;
  /** Approximate size of the keys in bytes. */
  readonly size: number;
}

interface StreamSettings {
  readonly labels: StreamLabels;
  /** The format if no hint names one. */
  readonly format: LokiFormat;
}

/** Approximate limits of the cache, in bytes and in objects. When one is reached, everything is forgotten. */
const MAX_KNOWN_BYTES = 16 * 1024 * 1024;
const MAX_KNOWN = 20_000;
/** Longer keys are not remembered, because senders choose their size. */
const MAX_KEY_LENGTH = 16_384;
/** Approximate size of a kept object. */
const OBJECT_BYTES = 500;
/** Approximate size of a key in a set, without its text. */
const KEY_BYTES = 250;

/** Limits of the buffers that are kept from one record to the next. */
const MAX_KEPT_FIELDS = 4096;
const MAX_KEPT_BYTES = 65_536;

const HINT_KEYS = new KeySet(HINT_NAMES);
const HINT_START = encodedKey(HINT_PREFIX);

/**
 * Finds the stream of a record by the bytes that determine it: the resource, the hints, the severity and the attributes
 * that become labels. Labels are chosen, and hints parsed, only for the first record of a stream.
 */
export class KnownStreams {
  private readonly settings: StreamSettings;
  private table = new ByteTable();
  private known: (KnownResource | StreamPlan | Stream)[] = [];
  private knownBytes = 0;
  private lastId = 0;
  /** The places of the present record's attributes, and the lookup key made of them. */
  private fields: number[] = [];
  private fieldCount = 0;
  private key = new WireWriter(256);

  constructor(settings: StreamSettings) {
    this.settings = settings;
  }

  /** Returns the resource with message [start, end). */
  resource(b: Uint8Array, start: number, end: number): KnownResource {
    const found = this.find<KnownResource>(RESOURCES, b, start, end);
    if (found !== undefined) return found;
    const attributes = plainAttributes(b, start, end, RESOURCE_ATTRIBUTES_TAG);
    const resource = {
      attributes,
      length: jsonText(attributes).length,
      plan: this.planOf(attributes, {}),
      id: ++this.lastId,
      rests: new Map<string, ResourceRest>(),
    };
    const size = resource.length * (MAX_RESTS + 2);
    // A resource that is not remembered takes room as well, because it lives as long as one of its streams is known.
    if (!isRememberable(end - start, size)) this.makeRoom(size);
    return this.remember(RESOURCES, b, start, end, resource, size);
  }

  /** Returns the stream of the record [start, end) of this resource. */
  stream(b: Uint8Array, start: number, end: number, resource: KnownResource): Stream {
    this.releaseLargeBuffers();
    const severity = this.readAttributes(b, start, end);
    const plan = this.plan(b, start, end, resource);
    const { key, fields } = this;
    key.clear();
    if (this.settings.labels.hasLevel) key.varint(severity);
    for (let i = 0; i < this.fieldCount; i += FIELD) {
      findKeyAndValue(b, fields[i]!, fields[i + 1]!);
      if (plan.keys === undefined || plan.keys.has(b, keyStart, keyEnd)) key.copy(b, fields[i]!, fields[i + 1]!);
    }
    const found = this.find<Stream>(plan.id, key.bytes, 0, key.length);
    if (found !== undefined) return found;
    const attributes = plainAttributes(b, start, end, LOG_ATTRIBUTES_TAG);
    const stream = streamOf(attributes, resource, severity, this.settings);
    const size = stream.labels.length * 4 + stream.taken.size * KEY_BYTES;
    return this.remember(plan.id, key.bytes, 0, key.length, stream, size);
  }

  /** Releases large buffers, so that the memory of one large record is not kept. */
  private releaseLargeBuffers(): void {
    if (this.fields.length > MAX_KEPT_FIELDS) this.fields = [];
    if (this.key.bytes.length > MAX_KEPT_BYTES) this.key = new WireWriter(256);
  }

  /** Finds the attributes of the record, and returns its severity. */
  private readAttributes(b: Uint8Array, start: number, end: number): number {
    const { fields } = this;
    let severity = 0;
    this.fieldCount = 0;
    for (let p = start; p < end; ) {
      p = stepOver(b, p);
      if (fieldTag === LOG_SEVERITY_NUMBER_TAG) severity = varint(b, valueAt) | 0;
      else if (fieldTag === LOG_ATTRIBUTES_TAG) {
        fields[this.fieldCount] = valueAt;
        fields[this.fieldCount + 1] = p;
        this.fieldCount += FIELD;
      }
    }
    return severity;
  }

  /** Returns the plan for the stream of the present record. */
  private plan(b: Uint8Array, start: number, end: number, resource: KnownResource): StreamPlan {
    const { key, fields } = this;
    key.clear();
    for (let i = 0; i < this.fieldCount; i += FIELD) {
      findKeyAndValue(b, fields[i]!, fields[i + 1]!);
      if (isHint(b, keyStart, keyEnd)) key.copy(b, fields[i]!, fields[i + 1]!);
    }
    if (key.length === 0) return resource.plan;
    const found = this.find<StreamPlan>(resource.id, key.bytes, 0, key.length);
    if (found !== undefined) return found;
    const plan = this.planOf(resource.attributes, plainAttributes(b, start, end, LOG_ATTRIBUTES_TAG));
    return this.remember(resource.id, key.bytes, 0, key.length, plan, plan.size);
  }

  private planOf(resource: PlainAttributes, hints: PlainAttributes): StreamPlan {
    const keys = [...this.settings.labels.keysRead(hints), tenantKey(hints, resource)];
    // Invalid UTF-8 is decoded to this character, so a key that contains it may stand for several keys.
    const isExact = !keys.some((key) => key.includes("\ufffd"));
    const size = isExact ? keys.reduce((sum, key) => sum + key.length * 2 + KEY_BYTES, 0) : 0;
    return { id: ++this.lastId, keys: isExact ? new KeySet(keys) : undefined, size };
  }

  private find<Known>(owner: number, b: Uint8Array, start: number, end: number): Known | undefined {
    const slot = this.table.find(owner, b, start, end);
    return slot < 0 ? undefined : (this.known[slot] as Known);
  }

  private remember<Known extends KnownResource | StreamPlan | Stream>(
    owner: number,
    b: Uint8Array,
    start: number,
    end: number,
    known: Known,
    size: number,
  ): Known {
    if (!isRememberable(end - start, size)) return known;
    this.makeRoom(end - start + size + OBJECT_BYTES);
    this.known[this.table.add(owner, b, start, end)] = known;
    return known;
  }

  private makeRoom(bytes: number): void {
    if (this.table.size >= MAX_KNOWN || this.knownBytes + bytes > MAX_KNOWN_BYTES) {
      this.table = new ByteTable();
      this.known = [];
      this.knownBytes = 0;
    }
    this.knownBytes += bytes;
  }
}

function isRememberable(keyLength: number, size: number): boolean {
  return keyLength <= MAX_KEY_LENGTH && keyLength + size + OBJECT_BYTES <= MAX_KNOWN_BYTES;
}

/**
 * The number that resources are stored under. Plans and streams use numbers that no other resource or plan ever had.
 */
const RESOURCES = 0;
/** Numbers kept for each attribute: the position of its length, and its end. */
const FIELD = 2;

function isHint(b: Uint8Array, start: number, end: number): boolean {
  if (end - start <= HINT_START.length || b[start] !== HINT_START[0]) return false;
  return HINT_KEYS.has(b, start, end);
}

function streamOf(
  attributes: PlainAttributes,
  resource: KnownResource,
  severity: number,
  settings: StreamSettings,
): Stream {
  const { text, taken, takenFromResource } = settings.labels.of(attributes, resource.attributes, severity);
  const format = formatOf(attributes, resource.attributes, settings.format);
  const tenant = tenantOf(attributes, resource.attributes);
  return {
    problem: problemOf(format, tenant, text),
    tenant,
    format: format as LokiFormat,
    labels: text,
    taken,
    leftOut: new KeySet([...HINT_NAMES, ...taken]),
    resource: restOf(resource.attributes, resource.rests, takenFromResource),
  };
}

function problemOf(format: string, tenant: string, labels: string): string | undefined {
  const isKnown = (LINE_FORMATS as readonly string[]).includes(format);
  if (!isKnown) return `the hint ${HINTS.format} is not one of ${LINE_FORMATS.join(", ")}`;
  if (!isHeader(TENANT_HEADER, tenant)) return `the tenant that ${HINTS.tenant} names cannot be sent as a header`;
  if (labels === "") return "the record has no label, and Loki requires one";
  return undefined;
}

function formatOf(attributes: PlainAttributes, resource: PlainAttributes, otherwise: LokiFormat): string {
  const hint = resource[HINTS.format] ?? attributes[HINTS.format];
  return hint === undefined ? otherwise : plainValueText(hint);
}

/** Returns the value of the attribute that the hint names. The resource is searched before the record. */
function tenantOf(attributes: PlainAttributes, resource: PlainAttributes): string {
  const key = tenantKey(attributes, resource);
  const owner = [resource, attributes].find((map) => Object.hasOwn(map, key));
  return owner === undefined ? "" : plainValueText(owner[key]);
}

function tenantKey(attributes: PlainAttributes, resource: PlainAttributes): string {
  return plainValueText(resource[HINTS.tenant] ?? attributes[HINTS.tenant]);
}
