import { useMemo } from "preact/hooks";
import { diffValues, withContext } from "../../src/runtime/text/diff-lines.js";
import { ScrollText } from "./scroll-text.js";
import { Text } from "./text.js";

const MAX_LINES = 400;

/** The differences between two values, with a few lines of context. */
export function DiffView({ before, after }: { before: unknown; after: unknown }) {
  const lines = useMemo(() => withContext(diffValues(before, after)), [before, after]);
  if (lines.every((line) => line !== undefined && line.kind === "same")) return <p class="dim">Nothing changes.</p>;
  return <DiffLines lines={lines} />;
}

interface DiffLine {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** Lines that are the same, gone and new; undefined stands for lines that are left out. */
export function DiffLines({ lines }: { lines: readonly (DiffLine | undefined)[] }) {
  return (
    <ScrollText name="code diff">
      {lines.slice(0, MAX_LINES).map((line, i) =>
        line === undefined ? (
          <div key={i} class="dim">
            …
          </div>
        ) : (
          <div key={i} class={line.kind}>
            {line.kind === "new" ? "+ " : line.kind === "gone" ? "- " : "  "}
            <Text value={line.text} max={300} />
          </div>
        ),
      )}
      {lines.length > MAX_LINES && <div class="dim">{lines.length - MAX_LINES} more lines</div>}
    </ScrollText>
  );
}
