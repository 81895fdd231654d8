import { useState } from "preact/hooks";
import { get, post, query, segment } from "../../api/client.js";
import { useValue, Value } from "../../api/value.js";
import { ErrorText } from "../../parts/bits.js";
import { ConfirmDialog, type Why } from "../../parts/dialog.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { deadLettersText } from "./totals.js";

/** Dead letters, as the API selects them: ids, or a query. */
export type SelectionBody =
  | { readonly ids: readonly string[] }
  | { readonly query: Readonly<Record<string, string>>; readonly all?: boolean };

interface Deletion {
  readonly deleted: number;
  readonly selection: SelectionBody;
  /** Whether the deleted ones are kept for some time. */
  readonly canUndo: boolean;
}

/** The last deletion in this tab, so that it can be undone after the list has changed. */
const lastDeletion = new Value<Deletion | undefined>(undefined);

interface DeleteProps {
  readonly selection: SelectionBody;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Counts what would be deleted, says whether that can be undone, and asks for a reason. */
export function DeleteDialog({ selection, onDone, onClose }: DeleteProps) {
  const [count] = useState(() => post<{ deleted: number }>("/dead-letters/purge", { ...selection, dryRun: true }));
  const [counted, setCounted] = useState<number>();
  const [problem, setProblem] = useState<string>();
  count.then(
    ({ deleted }) => counted ?? setCounted(deleted),
    (error: Error) => problem ?? setProblem(error.message),
  );
  const confirm = async (why: Why) => {
    const { deleted } = await post<{ deleted: number }>("/dead-letters/purge", { ...selection, ...why });
    lastDeletion.set({ deleted, selection, canUndo: await isKept(selection) });
    onDone();
  };
  return (
    <ConfirmDialog
      title="Delete dead letters"
      action="Delete"
      busyText="Deleting…"
      isDanger
      onConfirm={confirm}
      onClose={onClose}
    >
      <ErrorText message={problem} />
      <p>
        <strong>{counted === undefined ? "Counting…" : deadLettersText(counted)}</strong> and their data are deleted.
        They will never be delivered.
      </p>
      <p class="note">
        You can undo this only if <code>dead_letter.keep_deleted</code> is set for the exporter. By default, a deletion
        is final.
      </p>
    </ConfirmDialog>
  );
}

/** Whether deleted dead letters of a selection are kept for some time. */
async function isKept(selection: SelectionBody): Promise<boolean> {
  if ("ids" in selection)
    return get(`/dead-letters/${segment(selection.ids[0]!)}`).then(
      () => true,
      () => false,
    );
  const asked = query({ ...selection.query, deleted: true, limit: 1 });
  return (await get<{ entries: readonly unknown[] }>(`/dead-letters${asked}`)).entries.length > 0;
}

/** Tells what was deleted last, and offers to undo it. */
export function DeletionNote({ onDone }: { onDone: () => void }) {
  const deletion = useValue(lastDeletion);
  const [error, setError] = useState<string>();
  const [restored, setRestored] = useState<number>();
  const [isRestoring, setRestoring] = useState(false);
  if (restored !== undefined && deletion === undefined)
    return (
      <p class="note good" role="status">
        Restored {deadLettersText(restored)}.
      </p>
    );
  if (deletion === undefined) return null;
  const undo = () => {
    setRestoring(true);
    setError(undefined);
    restore(deletion.selection)
      .then(
        (count) => {
          lastDeletion.set(undefined);
          setRestored(count);
          onDone();
        },
        (failure: Error) => setError(failure.message),
      )
      .finally(() => setRestoring(false));
  };
  return (
    <p class="note toolbar" role="status">
      <span>Deleted {deadLettersText(deletion.deleted)}.</span>
      {deletion.canUndo && (
        <>
          <button type="button" disabled={isRestoring} onClick={undo}>
            {isRestoring ? "Restoring…" : "Undo"}
          </button>
          <a href={linkTo("failures", [], { view: "entries", deleted: "true" })}>Show deleted ones</a>
        </>
      )}
      {error !== undefined && (
        <span role="alert">
          <Text value={error} />
        </span>
      )}
      <span class="spacer" />
      <button type="button" class="icon" aria-label="Close" onClick={() => lastDeletion.set(undefined)}>
        ×
      </button>
    </p>
  );
}

/** Restores deleted dead letters and returns their number. */
export async function restore(selection: SelectionBody): Promise<number> {
  return (await post<{ restored: number }>("/dead-letters/restore", selection)).restored;
}
