import { useState } from "preact/hooks";
import { post, segment } from "../../api/client.js";
import type { Entry } from "../../api/shapes.js";
import { ErrorText } from "../../parts/bits.js";
import { ConfirmDialog, type Why } from "../../parts/dialog.js";
import { DiffView } from "../../parts/diff-view.js";
import { escapeHidden } from "../../parts/visible.js";
import { goTo, linkTo } from "../../route.js";

/** Edits one entry: its payload as OTLP/JSON, then the differences, then the replay. */
export function EditPage({ id }: { id: string }) {
  const [original, setOriginal] = useState<unknown>();
  const [revision, setRevision] = useState(0);
  const [text, setText] = useState("");
  const [isAsking, setAsking] = useState<"reveal" | "save" | undefined>("reveal");
  const reveal = async (why: Why) => {
    const { entry, payload } = await post<Revealed>(`/dead-letters/${segment(id)}/reveal`, why);
    setRevision(entry.edits?.at(-1)?.revision ?? 0);
    setOriginal(payload);
    setText(written(payload));
  };
  const save = async (why: Why) => {
    // Sent as a string, so that numbers stay as written.
    await post(`/dead-letters/${segment(id)}/edit`, { payload: text, revision, ...why });
    goTo("replay", ["new"], { ids: id });
  };
  const parsed = parse(text);
  return (
    <>
      <p class="crumbs">
        <a href={linkTo("failures")}>Failures</a> / <a href={linkTo("failures", [id])}>{id}</a> / edit
      </p>
      <h1>Edit an entry</h1>
      {original === undefined ? (
        <p>
          To edit it, you must reveal it first.{" "}
          <button type="button" onClick={() => setAsking("reveal")}>
            Reveal…
          </button>
        </p>
      ) : (
        <div class="columns">
          <section class="card">
            <label class="field">
              <span>Payload, as OTLP/JSON</span>
              <textarea
                rows={28}
                spellcheck={false}
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
            <ErrorText message={"error" in parsed ? parsed.error : undefined} />
            <p class="toolbar">
              <button
                type="button"
                class="primary"
                disabled={"error" in parsed || text === written(original)}
                onClick={() => setAsking("save")}
              >
                Save and continue to the replay…
              </button>
              <button type="button" onClick={() => setText(written(original))}>
                Undo all
              </button>
            </p>
          </section>
          <section class="card">
            <h2>Reason for the change</h2>
            {"value" in parsed && <DiffView before={original} after={parsed.value} />}
          </section>
        </div>
      )}
      {isAsking !== undefined && (
        <ConfirmDialog
          key={isAsking}
          title={isAsking === "reveal" ? "Reveal the payload to edit it" : "Save the change"}
          action={isAsking === "reveal" ? "Reveal" : "Save"}
          isDanger
          reasonRequired
          onConfirm={isAsking === "reveal" ? reveal : save}
          onClose={() => setAsking(undefined)}
        >
          {isAsking === "reveal" ? (
            <p>It may contain personal data and secrets. The audit records who revealed it, when and why.</p>
          ) : (
            <p>The entry is checked and kept with the change. The original stays in its history.</p>
          )}
        </ConfirmDialog>
      )}
    </>
  );
}

interface Revealed {
  readonly entry: Entry;
  readonly payload: unknown;
}

function written(payload: unknown): string {
  return escapeHidden(JSON.stringify(payload, null, 2));
}

function parse(text: string): { readonly value: unknown } | { readonly error: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}
