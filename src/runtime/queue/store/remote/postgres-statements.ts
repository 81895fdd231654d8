import { quoteText } from "#brokers/postgres";
import type { PostgresTables } from "./postgres-config.js";
import type { RowChange } from "./row-table.js";

/** Creates missing tables. The lock keeps two agents from interfering with each other. */
export function createTablesText({ queues, entries, notes }: PostgresTables): string {
  return `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended(${quoteText(queues)}, 0));
    CREATE TABLE IF NOT EXISTS ${queues} (queue text PRIMARY KEY, tag text NOT NULL, last_ref bigint NOT NULL, owner text NOT NULL);
    ALTER TABLE ${queues} ADD COLUMN IF NOT EXISTS id text;
    CREATE TABLE IF NOT EXISTS ${entries} (queue text NOT NULL, ref bigint NOT NULL, state smallint NOT NULL, entry text NOT NULL, payload bytea NOT NULL, PRIMARY KEY (queue, ref));
    ALTER TABLE ${entries} ALTER payload SET STORAGE EXTERNAL;
    CREATE TABLE IF NOT EXISTS ${notes} (queue text NOT NULL, number bigint NOT NULL, note bytea NOT NULL, PRIMARY KEY (queue, number));
    COMMIT`;
}

/** The number of a queue's advisory lock. Only one session can hold it. */
export function lockNumber({ queues }: PostgresTables, queue: string): string {
  return `hashtextextended(${quoteText(`${queues} `)} || ${queue}, 1)`;
}

/** The parts that determine the text of a change's statement. */
interface ChangeShape {
  readonly inserts: number;
  readonly notes: number;
  readonly hasMoves: boolean;
  readonly hasDeletes: boolean;
  readonly hasRemovedNotes: boolean;
}

/** Larger changes are rare and are not prepared. */
const MAX_PREPARED_ROWS = 64;

/**
 * Builds one statement for each change. It needs no transaction, and also checks the owner of the queue: it returns one
 * row, or none if another agent owns the queue. Frequent statements are prepared by name, so that the server need not
 * parse them again.
 */
export class CommitStatements {
  private readonly tables: PostgresTables;
  private readonly texts = new Map<string, string>();

  constructor(tables: PostgresTables) {
    this.tables = tables;
  }

  of(owner: { readonly queue: string; readonly owner: string }, change: RowChange): CommitStatement {
    const shape = {
      inserts: change.inserts.length,
      notes: change.notes.length,
      hasMoves: change.moves.length > 0,
      hasDeletes: change.deletes.length > 0,
      hasRemovedNotes: change.removedNotes.length > 0,
    };
    const values = commitValues(owner, change);
    if (shape.inserts > MAX_PREPARED_ROWS || shape.notes > 0) return { text: commitText(this.tables, shape), values };
    const name = `sluice ${Object.values(shape).map(Number).join(" ")}`;
    let text = this.texts.get(name);
    if (text === undefined) this.texts.set(name, (text = commitText(this.tables, shape)));
    return { name, text, values };
  }
}

export interface CommitStatement {
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
}

/** Returns the values in the order in which `commitText` numbers them. */
function commitValues(
  { queue, owner }: { readonly queue: string; readonly owner: string },
  change: RowChange,
): unknown[] {
  const { inserts, moves, deletes, notes, removedNotes } = change;
  const values: unknown[] = [queue, change.lastRef, owner];
  if (deletes.length > 0) values.push(deletes);
  if (moves.length > 0)
    values.push(
      moves.map(({ from }) => from),
      moves.map(({ to }) => to),
      moves.map(({ state }) => state),
      moves.map(({ head }) => head),
    );
  for (const { ref, state, head, payload } of inserts) values.push(ref, state, head, payload);
  for (const { number, value } of notes) values.push(number, value);
  if (removedNotes.length > 0) values.push(removedNotes);
  return values;
}

function commitText({ queues, entries, notes }: PostgresTables, shape: ChangeShape): string {
  let last = 3;
  const next = () => `$${++last}`;
  const isOwn = "EXISTS (SELECT FROM own)";
  const parts = [
    `own AS (UPDATE ${queues} SET last_ref = GREATEST(last_ref, $2) WHERE queue = $1 AND owner = $3 RETURNING 1)`,
  ];
  if (shape.hasDeletes)
    parts.push(`gone AS (DELETE FROM ${entries} WHERE queue = $1 AND ref = ANY (${next()}::bigint[]) AND ${isOwn})`);
  if (shape.hasMoves)
    parts.push(`moved AS (UPDATE ${entries} e SET ref = m.new, state = m.state, entry = m.entry
      FROM unnest(${next()}::bigint[], ${next()}::bigint[], ${next()}::smallint[], ${next()}::text[]) AS m (old, new, state, entry)
      WHERE e.queue = $1 AND e.ref = m.old AND ${isOwn})`);
  if (shape.inserts > 0) {
    const row = () => `(${next()}::bigint,${next()}::smallint,${next()}::text,${next()}::bytea)`;
    parts.push(`added AS (INSERT INTO ${entries} (queue, ref, state, entry, payload)
      SELECT $1, * FROM (VALUES ${Array.from({ length: shape.inserts }, row).join(",")}) v WHERE ${isOwn})`);
  }
  if (shape.notes > 0) {
    const row = () => `(${next()}::bigint,${next()}::bytea)`;
    // A commit whose answer was lost is repeated.
    parts.push(`noted AS (INSERT INTO ${notes} (queue, number, note)
      SELECT $1, * FROM (VALUES ${Array.from({ length: shape.notes }, row).join(",")}) v WHERE ${isOwn}
      ON CONFLICT (queue, number) DO UPDATE SET note = EXCLUDED.note)`);
  }
  if (shape.hasRemovedNotes)
    parts.push(
      `unnoted AS (DELETE FROM ${notes} WHERE queue = $1 AND number = ANY (${next()}::bigint[]) AND ${isOwn})`,
    );
  return `WITH ${parts.join(",\n")} SELECT 1 FROM own`;
}
