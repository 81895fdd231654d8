import { OWNER_TAG, RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "../../bytes/tags.js";
import { after, skip, varint } from "../../bytes/wire.js";
import { message } from "../../views/metric-walk.js";

/**
 * Called by a walk over the log records or spans of a batch, in order. Ranges are message bodies in the bytes; an empty
 * range is a missing message.
 */
export interface OwnedRecordVisitor {
  resource(start: number, end: number): void;
  scope(start: number, end: number): void;
  record(start: number, end: number): void;
}

/** Walks over the records of a logs or traces request, with their owners. */
export function walkOwnedRecords(b: Uint8Array, visitor: OwnedRecordVisitor): void {
  for (let p = 0; p < b.length; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== RESOURCE_CONTAINER_TAG) continue;
    varint(b, at);
    walkResource(b, after, p, visitor);
  }
}

function walkResource(b: Uint8Array, start: number, end: number, visitor: OwnedRecordVisitor): void {
  const [ownerStart, ownerEnd] = message(b, start, end, OWNER_TAG);
  visitor.resource(ownerStart, ownerEnd);
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== SCOPE_CONTAINER_TAG) continue;
    varint(b, at);
    walkScope(b, after, p, visitor);
  }
}

function walkScope(b: Uint8Array, start: number, end: number, visitor: OwnedRecordVisitor): void {
  const [ownerStart, ownerEnd] = message(b, start, end, OWNER_TAG);
  visitor.scope(ownerStart, ownerEnd);
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== SCOPE_ITEM_TAG) continue;
    varint(b, at);
    visitor.record(after, p);
  }
}
