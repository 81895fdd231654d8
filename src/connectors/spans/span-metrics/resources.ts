import {
  AttributeKey,
  after,
  eachAttribute,
  nextOwnerId,
  OwnerTable,
  RESOURCE_ATTRIBUTES_TAG,
  skip,
  varint,
} from "../../../runtime/kit.js";
import { textValue } from "../metric-writer.js";
import { WantedAttributes } from "../span-fields.js";
import type { Dimension } from "./config.js";
import type { SpanSeries } from "./series-group.js";

/** A resource, what its spans are looked up by, and the series that they have made. */
export interface ResourceState {
  readonly id: number;
  /** What tells it from the others. */
  readonly key: string;
  /** The fields of the Resource that metrics have: its attributes. */
  readonly body: Uint8Array;
  /** The AnyValue of service.name. */
  readonly service: Uint8Array | undefined;
  /** Of each dimension, the AnyValue that counts for spans without it. */
  readonly fallbacks: readonly (Uint8Array | undefined)[];
  /** By the number of the group. */
  readonly series: SpanSeries[][];
  readonly overflow: (SpanSeries | undefined)[];
  lastSeen: number;
  isForgotten: boolean;
}

/** Resources by their attributes, or by some of them. */
export class Resources {
  readonly active = new Map<string, ResourceState>();
  private readonly owners = new OwnerTable<{ readonly id: number; resource: ResourceState }>();
  private readonly attributes = new AttributeKey();
  private readonly defaults: readonly (Uint8Array | undefined)[];
  private readonly wanted: WantedAttributes;
  private readonly keyNames: ReadonlySet<string>;
  private readonly groups: number;

  constructor(dimensions: readonly Dimension[], keyNames: ReadonlySet<string>, groups: number) {
    this.defaults = dimensions.map(({ fallback }) => (fallback === undefined ? undefined : textValue(fallback)));
    this.wanted = new WantedAttributes([...dimensions.map(({ name }) => name), "service.name"]);
    this.keyNames = keyNames;
    this.groups = groups;
  }

  /** That of the Resource message [start, end). */
  get(b: Uint8Array, start: number, end: number, now: number): ResourceState {
    const known = this.owners.find(0, b, start, end);
    let resource = known?.resource;
    if (resource === undefined || resource.isForgotten) {
      resource = this.read(b, start, end);
      if (known === undefined) this.owners.add(0, b, start, end, { id: resource.id, resource });
      else known.resource = resource;
    }
    resource.lastSeen = now;
    return resource;
  }

  forget(resource: ResourceState): void {
    resource.isForgotten = true;
    this.active.delete(resource.key);
  }

  private read(b: Uint8Array, start: number, end: number): ResourceState {
    const { attributes, wanted } = this;
    attributes.begin(b);
    for (let p = start; p < end; ) {
      const at = p;
      const tag = varint(b, p);
      const lengthAt = after;
      p = skip(b, lengthAt, tag);
      if (tag !== RESOURCE_ATTRIBUTES_TAG) continue;
      varint(b, lengthAt);
      attributes.add(at, after, p);
    }
    attributes.finish();
    const body = attributes.bytes.slice(attributes.start, attributes.end);
    const key = this.keyOf(body);
    const known = this.active.get(key);
    if (known !== undefined) return known;
    wanted.clear();
    wanted.offerAll(body, 0, body.length, RESOURCE_ATTRIBUTES_TAG);
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
      lastSeen: 0,
      isForgotten: false,
    };
    this.active.set(key, resource);
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
