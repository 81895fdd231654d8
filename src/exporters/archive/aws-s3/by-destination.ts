import { message, SHAPES } from "#otlp/bytes";
import { partition } from "#otlp/edit";
import { plainAttributes, plainValueText } from "#otlp/json";
import { OWNER_TAG, RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import type { Batch } from "../../../plugin.js";

/** The object that records belong to. */
interface S3Place {
  readonly bucket: string;
  readonly name: string;
}

/** Records of the same object. */
interface S3Destination extends S3Place {
  readonly batch: Batch;
}

/** The resource attributes that name a bucket and a prefix; "" if none does. */
interface S3DestinationKeys {
  readonly s3_bucket: string;
  readonly s3_prefix: string;
}

/**
 * Divides a batch by the objects that its resources name. Several prefixes may mean the same object, such as `a` and
 * `a/`: their records stay together, because a second object of the same name would replace the first. `placeOf` gets
 * "" for what a resource does not name.
 */
export function byDestination(
  batch: Batch,
  attributes: S3DestinationKeys,
  placeOf: (bucket: string, prefix: string) => S3Place,
): S3Destination[] {
  const { s3_bucket: bucketKey, s3_prefix: prefixKey } = attributes;
  if (bucketKey === "" && prefixKey === "") return [{ ...placeOf("", ""), batch }];
  const places = new Map<string, S3Place & { readonly index: number }>();
  let serial = -1;
  let index = 0;
  const parts = partition(batch, SHAPES[batch.signal], 0, ({ bytes, frames, serials }) => {
    if (serials[0] === serial) return index;
    serial = serials[0]!;
    const [start, end] = message(bytes, frames[0]!.start, frames[0]!.end, OWNER_TAG);
    const resource = plainAttributes(bytes, start, end, RESOURCE_ATTRIBUTES_TAG);
    const textOf = (key: string) => (key === "" ? "" : plainValueText(resource[key]));
    const place = placeOf(textOf(bucketKey), textOf(prefixKey));
    const id = JSON.stringify([place.bucket, place.name]);
    if (!places.has(id)) places.set(id, { ...place, index: places.size });
    index = places.get(id)!.index;
    return index;
  });
  const found = [...places.values()].map(({ index: i, ...place }) => ({ ...place, batch: parts[i]! }));
  return found.length === 0 ? [{ ...placeOf("", ""), batch }] : found;
}
