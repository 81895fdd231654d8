import { useState } from "preact/hooks";
import { post, query, segment } from "../../api/client.js";
import type { Edit } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Badge, Load } from "../../parts/bits.js";
import { ConfirmDialog, type Why } from "../../parts/dialog.js";
import { Needs } from "../../parts/needs.js";
import { Tree } from "../../parts/tree.js";

/** The records of an entry as a tree, masked unless the user gives a reason to reveal them. */
export function PayloadView({ id, edits }: { id: string; edits: readonly Edit[] }) {
  const [revision, setRevision] = useState<number>();
  const asked = query({ payload: true, revision });
  const masked = useLoad<{ payload?: unknown; masked?: boolean }>(`/dead-letters/${segment(id)}${asked}`);
  const [revealed, setRevealed] = useState<unknown>();
  const [isAsking, setAsking] = useState(false);
  const reveal = async (why: Why) => {
    const { payload } = await post<{ payload: unknown }>(`/dead-letters/${segment(id)}/reveal`, { ...why, revision });
    setRevealed(payload);
  };
  return (
    <section class="card payload">
      <header>
        <h2>Payload</h2>
        {revealed !== undefined && <Badge tone="warn">revealed</Badge>}
        {revealed === undefined && masked.data?.masked === true && <Badge tone="info">masked</Badge>}
        <span class="spacer" />
        {edits.length > 0 && (
          <select
            aria-label="Revision"
            value={revision ?? ""}
            onChange={({ currentTarget: { value } }) => {
              setRevealed(undefined);
              setRevision(value === "" ? undefined : Number(value));
            }}
          >
            <option value="">as it is now</option>
            {edits.map(({ revision: next }) => (
              <option key={next} value={next - 1}>
                {next === 1 ? "as it came" : `after edit ${next - 1}`}
              </option>
            ))}
          </select>
        )}
        {revealed === undefined ? (
          <Needs right="reveal" what="Unmasking it">
            <button type="button" onClick={() => setAsking(true)}>
              Reveal…
            </button>
          </Needs>
        ) : (
          <button type="button" onClick={() => setRevealed(undefined)}>
            Mask again
          </button>
        )}
      </header>
      {revealed === undefined ? (
        <Load of={masked} part="Payload">
          {({ payload }) => <Tree value={payload} />}
        </Load>
      ) : (
        <Tree value={revealed} />
      )}
      {isAsking && (
        <ConfirmDialog
          title="Reveal the payload"
          action="Reveal"
          isDanger
          reasonRequired
          onConfirm={reveal}
          onClose={() => setAsking(false)}
        >
          <p>It may contain personal data and secrets. The audit records who revealed it, when and why.</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
