import { useState } from "preact/hooks";
import { post, segment } from "../../api/client.js";
import { useLoad } from "../../api/use-load.js";
import { Badge, Load } from "../../parts/bits.js";
import { ConfirmDialog, type Why } from "../../parts/dialog.js";
import { Tree } from "../../parts/tree.js";

/** The records of an entry as a tree: masked, unless somebody has said why not. */
export function PayloadView({ id }: { id: string }) {
  const masked = useLoad<{ payload?: unknown; masked?: boolean }>(`/dead-letters/${segment(id)}?payload=true`);
  const [revealed, setRevealed] = useState<unknown>();
  const [isAsking, setAsking] = useState(false);
  const reveal = async (why: Why) => {
    const { payload } = await post<{ payload: unknown }>(`/dead-letters/${segment(id)}/reveal`, why);
    setRevealed(payload);
  };
  return (
    <section class="card payload">
      <header>
        <h2>Payload</h2>
        {revealed !== undefined && <Badge tone="warn">revealed</Badge>}
        {revealed === undefined && masked.data?.masked === true && <Badge tone="info">masked</Badge>}
        <span class="spacer" />
        {revealed === undefined ? (
          <button type="button" onClick={() => setAsking(true)}>
            Reveal…
          </button>
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
          <p>It may hold personal data and secrets. Who looked, when and why is kept in the audit log.</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
