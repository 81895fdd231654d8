import { AttributeKey, eachAttribute, nextOwnerId, OwnerTable } from "#metrics";

import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import { textValue } from "../metric-writer.js";
import { WantedAttributes } from "../span-fields.js";
import type { Dimension } from "./config.js";
import type { SpanSeries } from "./series-group.js";

/** A resource, the data for looking up its spans, and the series of its spans. */
export interface ResourceState {
  readonly id: number;
  /** Identifies the resource. */
  readonly key: string;
  /** The fields of the Resource that metrics contain: its attributes. */
  readonly body: Uint8Array;
  /** The AnyValue of service.name. */
  readonly service: Uint8Array | undefined;
  /** For each dimension, the AnyValue for spans without it. */
  readonly fallbacks: readonly (Uint8Array | undefined)[];
  /** Series by the number of their group. */
  readonly series: SpanSeries[][];
  readonly overflow: (SpanSeries | undefined)[];
  /** True for the resource that stands for all resources without room. Their spans are counted together. */
  readonly isOverflow: boolean;
  lastSeen: number;
  isForgotten: boolean;
}

/** Limit for the attributes of all resources together. */
const MAX_BYTES = 128 * 1024 * 1024;
/** No attributes give this key, because they are written with one character per byte. */
const OVERFLOW_KEY = "\u0100";
const NO_ATTRIBUTES = new Uint8Array(0);

/**
 * Resources by all or some of their attributes. Their number and bytes are bounded, because where every pod or process
 * is a resource, new ones appear without end. When there is no room, spans are counted under a resource without
 * attributes.
 */
export class Resources {
  readonly active = new Map<string, ResourceState>();
  private bytes = 0;
  private readonly owners = new OwnerTable<{ readonly id: number; resource: ResourceState }>();
  private readonly attributes = new AttributeKey();
  private readonly defaults: readonly (Uint8Array | undefined)[];
  private readonly wanted: WantedAttributes;
  private readonly keyNames: ReadonlySet<string>;
  private readonly groups: number;
  private readonly maxResources: number;

  constructor(dimensions: readonly Dimension[], keyNames: ReadonlySet<string>, groups: number, maxResources: number) {
    this.defaults = dimensions.map(({ fallback }) => (fallback === undefined ? undefined : textValue(fallback)));
    this.wanted = new WantedAttributes([...dimensions.map(({ name }) => name), "service.name"]);
    this.keyNames = keyNames;
    this.groups = groups;
    this.maxResources = maxResources;
  }

  /** Returns the state for the Resource message [start, end). */
  get(b: Uint8Array, start: number, end: number, now: number): ResourceState {
    const known = this.owners.find(0, b, start, end);
    let resource = known?.resource;
    if (resource === undefined || resource.isForgotten) {
      resource = this.read(b, start, end);
      if (known !== undefined) known.resource = resource;
      else if (!resource.isOverflow) this.owners.add(0, b, start, end, { id: resource.id, resource });
    }
    resource.lastSeen = now;
    return resource;
  }

  forget(resource: ResourceState): void {
    resource.isForgotten = true;
    this.active.delete(resource.key);
    this.bytes -= sizeOf(resource);
  }

  private read(b: Uint8Array, start: number, end: number): ResourceState {
    const { attributes } = this;
    attributes.begin(b);
    attributes.addAll(start, end, RESOURCE_ATTRIBUTES_TAG);
    attributes.finish();
    const key = this.keyOf(attributes.bytes.subarray(attributes.start, attributes.end));
    const known = this.active.get(key);
    if (known !== undefined) return known;
    // Copied, because a view would keep the whole request in memory.
    const body = new Uint8Array(attributes.bytes.subarray(attributes.start, attributes.end));
    if (this.active.size >= this.maxResources || this.bytes + body.length + key.length > MAX_BYTES)
      return this.active.get(OVERFLOW_KEY) ?? this.add(OVERFLOW_KEY, NO_ATTRIBUTES);
    return this.add(key, body);
  }

  private add(key: string, body: Uint8Array): ResourceState {
    const { wanted } = this;
    wanted.clear();
    wanted.collectAll(body, 0, body.length, RESOURCE_ATTRIBUTES_TAG);
    const valueAt = (i: number) =>
      wanted.starts[i]! < 0 ? undefined : body.subarray(wanted.starts[i], wanted.ends[i]);
    const resource: ResourceState = {
      id: nextOwnerId(),
      key,
      body,
      service: valueAt(this.defaults.length),
      fallbacks: this.defaults.map((fallback, i) => valueAt(i) ?? fallback),
      series: Array.from({ length: this.groups }, () => []),
      overflow: [],
      isOverflow: key === OVERFLOW_KEY,
      lastSeen: 0,
      isForgotten: false,
    };
    this.active.set(key, resource);
    this.bytes += sizeOf(resource);
    return resource;
  }

  private keyOf(body: Uint8Array): string {
    const all = Buffer.from(body.buffer, body.byteOffset, body.length);
    if (this.keyNames.size === 0) return all.toString("latin1");
    let key = "";
    eachAttribute(body, 0, body.length, (nameStart, nameEnd, valueStart, valueEnd) => {
      if (!this.keyNames.has(all.toString("utf8", nameStart, nameEnd))) return;
      key += `${nameEnd - nameStart} ${valueEnd - valueStart} `;
      key += all.toString("latin1", nameStart, nameEnd) + all.toString("latin1", valueStart, valueEnd);
    });
    return key;
  }
}

function sizeOf({ key, body }: ResourceState): number {
  return key.length + body.length;
}
