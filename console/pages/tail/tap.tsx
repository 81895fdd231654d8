import { useState } from "preact/hooks";
import { query } from "../../api/client.js";
import { useEvents } from "../../api/events.js";
import type { TappedRecord } from "../../api/shapes.js";
import { Empty, Problem } from "../../parts/bits.js";
import { clockText, countText } from "../../parts/format.js";
import { Text } from "../../parts/text.js";
import { Tree } from "../../parts/tree.js";
import { goTo } from "../../route.js";
import { recordText } from "../failures/record-text.js";
import { savePlaygroundRecord } from "../playground/playground-record.js";

/** Maximum number of rows kept; older ones are removed. */
const MAX_ROWS = 200;
const LIMIT = 1_000;

interface Row extends TappedRecord {
  readonly key: number;
}

/** Records that pass a node or an edge: a masked sample, newest first. */
export function Tap({ at, where, rate = 10 }: { at: string; where?: string; rate?: number }) {
  const [isOn, setOn] = useState(true);
  const [rows, setRows] = useState<readonly Row[]>([]);
  const [counts, setCounts] = useState({ seen: 0, dropped: 0 });
  const path = `/tap${query({ at, where, rate, limit: LIMIT })}`;
  const state = useEvents(isOn ? path : undefined, ({ name, data }) => {
    if (name === "record") {
      setCounts(({ seen, dropped }) => ({ seen: seen + 1, dropped }));
      setRows((before) =>
        [{ ...(data as TappedRecord), key: (before[0]?.key ?? 0) + 1 }, ...before].slice(0, MAX_ROWS),
      );
    }
    if (name === "dropped") {
      const { records = 0 } = data as { records?: number };
      setCounts(({ seen, dropped }) => ({ seen, dropped: dropped + records }));
    }
    if (name === "end") setOn(false);
  });
  if (typeof state === "object") return <Problem error={state.error} part="Live tail" />;
  return (
    <div class="tap">
      <p class="toolbar">
        <button type="button" onClick={() => setOn(!isOn)}>
          {isOn ? "Pause" : "Go on"}
        </button>
        <button type="button" onClick={() => setRows([])}>
          Clear
        </button>
        <span class="dim" role="status">
          {isOn ? (state === "open" ? "live" : "connecting") : "paused"} · {countText(counts.seen)} seen
          {counts.dropped > 0 && ` · ${missedText(counts.dropped, where)}`} · masked
        </span>
      </p>
      {rows.length === 0 ? (
        <EmptyTap isOn={isOn} where={where} />
      ) : (
        <div class="tapped">
          {rows.map((row) => (
            <TapRow key={row.key} row={row} />
          ))}
        </div>
      )}
    </div>
  );
}

/** Says why there is nothing to see, and what would change that. */
function EmptyTap({ isOn, where }: { isOn: boolean; where: string | undefined }) {
  if (!isOn) return <Empty>Paused. Nothing is shown until you continue.</Empty>;
  return (
    <Empty>
      {where ? "No matching record has passed yet." : "Nothing has passed here yet."} Records appear here as soon as
      they pass. If none comes, choose a place nearer to the receiver{where ? ", or remove the condition" : ""}.
    </Empty>
  );
}

/** With a condition it is unknown how many of the missed records would have matched, because most were not checked. */
function missedText(records: number, where: string | undefined): string {
  const count = countText(records);
  return where
    ? `a sample: ${count} more passed and were not checked, or not shown`
    : `${count} more passed that are not shown`;
}

function TapRow({ row }: { row: Row }) {
  const [isOpen, setOpen] = useState(false);
  const { at, signal, record, resource, scope } = row;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <time>{clockText(at).slice(11)}</time> <span class={`signal ${signal}`}>{signal}</span>{" "}
        <Text value={recordText(record)} max={160} inline />
      </summary>
      {isOpen && (
        <p class="toolbar">
          <button
            type="button"
            onClick={() => {
              savePlaygroundRecord({ signal, record });
              goTo("ottl");
            }}
          >
            Try in OTTL
          </button>
          <span class="dim">Opens this record, as it is shown here, in the playground.</span>
        </p>
      )}
      {isOpen && (
        <Tree value={{ record, ...(resource !== undefined && { resource }), ...(scope !== undefined && { scope }) }} />
      )}
    </details>
  );
}
