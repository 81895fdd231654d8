import type { Clock, Logger } from "#contract";
import { AdminError, type DeadLetterEdit, type Entry, revisionOf } from "#contract/operations";
import type { Batch } from "#otlp";
import { batchFromJson, findUnknownMember } from "#otlp/json";
import { isMalformed, type Signal } from "#otlp/signals";
import { numberingAfterEdit } from "../../entry/numbering.js";
import { runExclusively } from "../../store/dead-letter-access.js";
import { replacementOf } from "../../store/format/entry.js";
import type { StoredEntry } from "../../store/store.js";
import { excerptOf } from "../batch-excerpt.js";
import { type Controls, isDeleted, type LocatedEntry } from "../dead-letters.js";
import { findEntry } from "../selection.js";
import { type Originals, withEdit } from "./originals.js";

interface EditServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly originals: Originals;
}

/**
 * Replaces the payload of a dead letter. First the old payload is stored in the history. Then the entry is replaced by
 * itself with the new payload in one write. After a crash at any point there is one entry with one of the two payloads,
 * never both.
 */
export async function editDeadLetter(
  controls: Controls,
  id: string,
  edit: DeadLetterEdit,
  services: EditServices,
): Promise<Entry> {
  const located = await findEntry(controls, id);
  if (located === undefined) throw new AdminError("not_found", `there is no entry ${JSON.stringify(id)}`);
  const batch = readPayload(located.entry.signal, edit.payload);
  const { store } = located.control;
  return runExclusively(store, async () => {
    const present = await store.find(id);
    checkEditable(id, present?.entry, edit.revision);
    return replacePayload({ ...present!, control: located.control }, batch, edit, services);
  });
}

/** An edit is allowed only if the editor has seen the revision that it replaces. */
function checkEditable(id: string, entry: Entry | undefined, revision: number): asserts entry is Entry {
  if (entry?.state !== "failed" || isDeleted(entry))
    throw new AdminError("conflict", `${id} is no longer a dead letter: it was replayed, delivered or deleted`);
  if (entry.arriving !== undefined)
    throw new AdminError("conflict", `${id} is being moved from ${entry.arriving.from}: try again`);
  const known = revisionOf(entry);
  if (known === revision) return;
  const { by } = entry.edits!.at(-1)!;
  throw new AdminError(
    "conflict",
    `${by} changed ${id} at the same time (it is now revision ${known}, not ${revision}): look at it again. Your change was not applied`,
  );
}

async function replacePayload(
  { control: { store }, ref, entry }: LocatedEntry,
  batch: Batch,
  { by, reason }: DeadLetterEdit,
  { clock, logger, originals }: EditServices,
): Promise<Entry> {
  const at = clock.now();
  const original = await store.payload(ref);
  await originals.keep(entry, original, at);
  const numbered =
    batch.count === original.count ? entry : { ...entry, numbering: numberingAfterEdit(entry, original, batch) };
  const edited = withEdit(numbered, { at, by, ...(reason !== undefined && { reason }) });
  const failure = { ...edited.failure!, ...excerptOf(batch) };
  const [stored] = await store.replace(ref, [replacementOf({ ...edited, failure }, batch)]);
  logger.info({ id: entry.id, by, revision: revisionOf(edited) }, "a dead letter was edited");
  return (stored as StoredEntry).entry;
}

/** Parses the payload of an edit. Throws an `AdminError` that says what is wrong and where. */
function readPayload(signal: Signal, payload: string): Batch {
  const unknown = findUnknownMember(signal, parseJson(payload));
  if (unknown !== undefined)
    throw new AdminError("bad_request", `the payload is not OTLP of ${signal}: it has no member ${unknown}`);
  try {
    const batch = batchFromJson(signal, payload);
    if (batch.count > 0) return batch;
  } catch (error) {
    if (!isMalformed(error)) throw error;
    throw new AdminError("bad_request", `the payload is not OTLP of ${signal}: ${error.message}`, { cause: error });
  }
  throw new AdminError("bad_request", "the payload has no records: delete the dead letter instead");
}

function parseJson(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch (error) {
    throw new AdminError("bad_request", `the payload is not JSON: ${(error as Error).message}`, { cause: error });
  }
}
