import { OWNER_TAG, RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "../bytes/tags.generated.js";
import { bodyEnd, message, nextBody } from "../bytes/wire.js";

/**
 * Called by a walk over the log records, spans or metrics of a batch, in order. Ranges are message bodies in the bytes;
 * an empty range is a missing message.
 */
export interface OwnedRecordVisitor {
  resource(start: number, end: number): void;
  /** The scope, and the message that contains it and its records. */
  scope(start: number, end: number, containerStart: number, containerEnd: number): void;
  record(start: number, end: number): void;
  /** Called after the last record of a resource. */
  resourceEnd?(): void;
}

/** Walks over the records of a request, with their owners. The records of a metrics request are its metrics. */
export function walkOwnedRecords(b: Uint8Array, visitor: OwnedRecordVisitor): void {
  for (let p = 0; (p = nextBody(b, p, b.length, RESOURCE_CONTAINER_TAG)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    walkResource(b, body, p, visitor);
  }
}

function walkResource(b: Uint8Array, start: number, end: number, visitor: OwnedRecordVisitor): void {
  const [ownerStart, ownerEnd] = message(b, start, end, OWNER_TAG);
  visitor.resource(ownerStart, ownerEnd);
  for (let p = start; (p = nextBody(b, p, end, SCOPE_CONTAINER_TAG)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    walkScope(b, body, p, visitor);
  }
  visitor.resourceEnd?.();
}

function walkScope(b: Uint8Array, start: number, end: number, visitor: OwnedRecordVisitor): void {
  const [ownerStart, ownerEnd] = message(b, start, end, OWNER_TAG);
  visitor.scope(ownerStart, ownerEnd, start, end);
  for (let p = start; (p = nextBody(b, p, end, SCOPE_ITEM_TAG)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    visitor.record(body, p);
  }
}
