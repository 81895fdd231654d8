import { message, SHAPES } from "#otlp/bytes";
import { partition } from "#otlp/edit";
import { plainAttributes, plainValueText } from "#otlp/json";
import { OWNER_TAG, RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import type { Batch } from "../../../plugin.js";

/** Records with the bucket and prefix that their resources name; "" if they name none. */
export interface S3Destination {
  readonly bucket: string;
  readonly prefix: string;
  readonly batch: Batch;
}

/** The resource attributes that name a bucket and a prefix; "" if none does. */
export interface S3DestinationKeys {
  readonly s3_bucket: string;
  readonly s3_prefix: string;
}

/** Divides a batch by the places that its resources name. */
export function byDestination(batch: Batch, attributes: S3DestinationKeys): S3Destination[] {
  const { s3_bucket: bucketKey, s3_prefix: prefixKey } = attributes;
  if (bucketKey === "" && prefixKey === "") return [{ bucket: "", prefix: "", batch }];
  const places = new Map<string, { readonly bucket: string; readonly prefix: string; readonly index: number }>();
  let serial = -1;
  let index = 0;
  const parts = partition(batch, SHAPES[batch.signal], 0, ({ bytes, frames, serials }) => {
    if (serials[0] === serial) return index;
    serial = serials[0]!;
    const [start, end] = message(bytes, frames[0]!.start, frames[0]!.end, OWNER_TAG);
    const resource = plainAttributes(bytes, start, end, RESOURCE_ATTRIBUTES_TAG);
    const textOf = (key: string) => (key === "" ? "" : plainValueText(resource[key]));
    const place = { bucket: textOf(bucketKey), prefix: textOf(prefixKey), index: places.size };
    const name = JSON.stringify([place.bucket, place.prefix]);
    if (!places.has(name)) places.set(name, place);
    index = places.get(name)!.index;
    return index;
  });
  const found = [...places.values()].map((place) => ({ ...place, batch: parts[place.index]! }));
  return found.length === 0 ? [{ bucket: "", prefix: "", batch }] : found;
}
