import { nextOwnerId, OwnerTable } from "#metrics";
import { findField, fixed32, message, varint } from "#otlp/bytes";
import { METRIC_NAME_TAG, METRIC_UNIT_TAG } from "#otlp/metric-tags";
import { OWNER_TAG } from "#otlp/tags";
import type { RecordWalk } from "#otlp/views";

const MAX_OWNERS = 2_000_000;

/** The numbers under which the series of metrics are kept: one for each resource, scope, name, kind and unit. */
export class MetricOwners {
  private readonly owners = new OwnerTable<{ readonly id: number }>(MAX_OWNERS);

  /** Returns the number of the metric that the walk is in. */
  idOf({ bytes: b, frames }: RecordWalk): number {
    const [resource, scope, metric, data] = frames as [Range, Range, Range, Range & { readonly tag: number }];
    const resourceId = this.ownerOf(0, b, message(b, resource.start, resource.end, OWNER_TAG));
    const scopeId = this.ownerOf(resourceId, b, message(b, scope.start, scope.end, OWNER_TAG));
    const metricId = this.ownerOf(scopeId, b, message(b, metric.start, metric.end, METRIC_NAME_TAG));
    return this.ownerOf(metricId + data.tag / 128, b, message(b, metric.start, metric.end, METRIC_UNIT_TAG));
  }

  private ownerOf(parent: number, b: Uint8Array, [start, end]: readonly [number, number]): number {
    const known = this.owners.find(parent, b, start, end);
    return (known ?? this.owners.add(parent, b, start, end, { id: nextOwnerId() })).id;
  }
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Returns the number in a field of the message; 0 if it has no such field. */
export function numberAt(b: Uint8Array, { start, end }: Range, tag: number): number {
  const at = findField(b, start, end, tag);
  return at < 0 ? 0 : varint(b, at);
}

/** Returns the eight bytes of a field, such as a time in nanoseconds. */
export function unsignedAt(b: Uint8Array, at: number): bigint {
  return (BigInt(fixed32(b, at + 4)) << 32n) | BigInt(fixed32(b, at));
}
