import { useState } from "preact/hooks";
import { countText } from "./format.js";
import { textRuns } from "./visible.js";

const STEP = 20_000;

/**
 * Shows an untrusted text: never as markup, with hidden characters made visible, and cut to `max` characters until the
 * user asks for more. `inline` cuts without offering more.
 */
export function Text({ value, max = 400, inline = false }: { value: string; max?: number; inline?: boolean }) {
  const [limit, setLimit] = useState(max);
  const isCut = value.length > limit;
  const shown = isCut ? value.slice(0, limit) : value;
  return (
    <span class="text" title={inline && isCut ? `${countText(value.length)} characters` : undefined}>
      {textRuns(shown).map(({ text, isHidden }, i) =>
        isHidden ? (
          <span key={i} class="hidden-char" title="an invisible character">
            {text}
          </span>
        ) : (
          text
        ),
      )}
      {isCut && (inline ? "…" : <More left={value.length - limit} onMore={() => setLimit(limit + STEP)} />)}
    </span>
  );
}

function More({ left, onMore }: { left: number; onMore: () => void }) {
  return (
    <>
      {"… "}
      <button type="button" class="link" onClick={onMore}>
        show more ({countText(left)} characters left)
      </button>
    </>
  );
}
