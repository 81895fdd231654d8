import { createHash } from "node:crypto";
import { AdminError, type DeadLetterQuery } from "#contract/operations";
import type { EntryRef } from "../../store/store.js";

/** For each exporter, the last dead letter that was shown. */
type CursorPositions = Readonly<Record<string, EntryRef>>;

/**
 * A cursor names the last entry that was read in each store, so it stays valid when entries come or go, and after a
 * restart. It is valid only for its query: filters and order must be the same on every page. Times may differ, because
 * a time such as "two hours ago" changes from page to page.
 */
export function encodeCursor(positions: CursorPositions, query: DeadLetterQuery): string {
  const body = JSON.stringify([VERSION, fingerprint(query), positions]);
  return Buffer.from(`${checksum(body)}${body}`).toString("base64url");
}

/** Throws an `AdminError` if the cursor was changed, cut or made up. */
export function decodeCursor(cursor: string, query: DeadLetterQuery): CursorPositions {
  const text = /^[\w-]{1,8192}$/.test(cursor) ? Buffer.from(cursor, "base64url").toString() : "";
  const body = text.slice(CHECKSUM_LENGTH);
  if (text.slice(0, CHECKSUM_LENGTH) !== checksum(body)) {
    throw new AdminError(
      "bad_request",
      "the cursor is damaged: give it as it was printed, or leave it out to start over",
    );
  }
  const [version, filters, positions] = JSON.parse(body) as [number, string, CursorPositions];
  if (version !== VERSION) throw new AdminError("bad_request", "the cursor comes from another version: start over");
  if (filters !== fingerprint(query)) {
    throw new AdminError("bad_request", "the cursor belongs to other filters: give the same ones for every page");
  }
  return positions;
}

const VERSION = 1;
const CHECKSUM_LENGTH = 10;

/** Detects accidents and guesses. A cursor grants no access, so no secret is needed. */
function checksum(body: string): string {
  return createHash("sha256").update(`sluice cursor ${body}`).digest("base64url").slice(0, CHECKSUM_LENGTH);
}

function fingerprint({ cursor: _, limit: __, since: ___, until: ____, ...filters }: DeadLetterQuery): string {
  const entries = Object.entries({ order: "newest", ...filters }).filter(([, value]) => value !== undefined);
  return checksum(JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1))));
}
