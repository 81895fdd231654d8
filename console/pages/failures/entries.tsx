import { useEffect, useState } from "preact/hooks";
import { type ApiError, get, query } from "../../api/client.js";
import type { Entry } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Empty, ErrorText, Load, Problem } from "../../parts/bits.js";
import { bytesText, countText, messageText } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Text } from "../../parts/text.js";
import { goTo, linkTo } from "../../route.js";
import { CALLS_MEANING } from "./calls-meaning.js";
import { DeleteDialog, restore, type SelectionBody } from "./delete-dialog.js";
import { apiFilters, type Filters, replayLink } from "./filters.js";
import { Preview } from "./preview.js";

interface EntryPageOf {
  readonly entries: readonly Entry[];
  readonly cursor?: string;
}

/** Fewer on a telephone, where each takes several lines. */
const PAGE = matchMedia("(max-width: 640px)").matches ? 15 : 50;
/** More rows would only slow the browser down. */
const MAX_ROWS = 1_000;

/** A list of dead letters, newest first; selected ones can be replayed. */
export function Entries({ filters, onChanged }: { filters: Filters; onChanged: () => void }) {
  const asked = { ...apiFilters(filters), limit: String(PAGE) };
  const first = useLoad<EntryPageOf>(`/dead-letters${query(asked)}`);
  const [more, setMore] = useState<EntryPageOf[]>([]);
  const [wanted, setWanted] = useState(PAGE);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [failed, setFailed] = useState<ApiError>();
  const [isStopped, setStopped] = useState(false);
  const pages = first.data === undefined ? [] : [first.data, ...more];
  const entries = pages.flatMap((each) => each.entries);
  const cursor = pages.at(-1)?.cursor;
  const isSearching =
    cursor !== undefined && entries.length < Math.min(wanted, MAX_ROWS) && failed === undefined && !isStopped;
  const loadMore = () => {
    setFailed(undefined);
    setStopped(false);
    setWanted(entries.length + PAGE);
  };
  useEffect(() => {
    setMore([]);
    setWanted(PAGE);
    setFailed(undefined);
    setStopped(false);
    setChosen(new Set());
  }, [first.data]);
  // A page of the API scans a limited number of dead letters, so a filter with few matches needs many pages.
  useEffect(() => {
    if (!isSearching) return;
    const abort = new AbortController();
    get<EntryPageOf>(`/dead-letters${query({ ...asked, cursor })}`, abort.signal).then(
      (page) => !abort.signal.aborted && setMore((before) => [...before, page]),
      (error: unknown) => !abort.signal.aborted && setFailed(error as ApiError),
    );
    return () => abort.abort();
  }, [isSearching, cursor]);
  return (
    <Load of={first} part="Dead letters">
      {() => (
        <>
          {entries.length > 0 && <Toolbar chosen={chosen} filters={filters} onChanged={onChanged} />}
          {entries.length > 0 && <EntryTable entries={entries} chosen={chosen} onChoose={setChosen} />}
          {failed && <Problem error={failed} part="Dead letters" />}
          {isSearching && (
            <p class="empty" role="status">
              Searching… {countText(entries.length)} found so far.{" "}
              <button type="button" onClick={() => setStopped(true)}>
                Stop
              </button>
            </p>
          )}
          {cursor === undefined && entries.length === 0 && <Empty>No dead letter matches.</Empty>}
          {!isSearching && cursor !== undefined && entries.length < MAX_ROWS && (
            <p>
              <button type="button" onClick={loadMore}>
                {isStopped ? "Search on" : "Load more"}
              </button>
            </p>
          )}
          {entries.length >= MAX_ROWS && <p class="dim">The first {countText(MAX_ROWS)}; filter to see others.</p>}
        </>
      )}
    </Load>
  );
}

interface ToolbarProps {
  readonly chosen: ReadonlySet<string>;
  readonly filters: Filters;
  readonly onChanged: () => void;
}

function Toolbar({ chosen, filters, onChanged }: ToolbarProps) {
  const [deleting, setDeleting] = useState<SelectionBody>();
  const ids = [...chosen];
  const number = ids.length === 0 ? "chosen" : `${countText(ids.length)} chosen`;
  if (filters["deleted"] !== undefined) return <RestoreBar ids={ids} filters={filters} onChanged={onChanged} />;
  return (
    <div class="toolbar">
      <Needs right="replay" what="Replaying dead letters">
        <button
          type="button"
          disabled={ids.length === 0}
          onClick={() => goTo("replay", ["new"], { ids: ids.join(",") })}
        >
          Replay {number}…
        </button>
        <a class="button" href={replayLink(filters)}>
          Replay all that match…
        </a>
      </Needs>
      <Needs right="purge">
        <button type="button" disabled={ids.length === 0} onClick={() => setDeleting({ ids })}>
          Delete {number}…
        </button>
        <button type="button" onClick={() => setDeleting(allOf(filters))}>
          Delete all that match…
        </button>
        <span class="spacer" />
        <a href={linkTo("failures", [], { view: "entries", deleted: "true" })}>Deleted ones</a>
      </Needs>
      {deleting !== undefined && (
        <DeleteDialog selection={deleting} onDone={onChanged} onClose={() => setDeleting(undefined)} />
      )}
    </div>
  );
}

/** All that match. Without filters these are all dead letters, which the API wants to be told. */
function allOf(filters: Filters): SelectionBody {
  const query = apiFilters(filters);
  return Object.keys(query).length === 0 ? { query, all: true } : { query };
}

/** The actions on deleted dead letters, which are in no other list and cannot be replayed. */
function RestoreBar({ ids, filters, onChanged }: Omit<ToolbarProps, "chosen"> & { ids: readonly string[] }) {
  const [error, setError] = useState<string>();
  const act = (selection: SelectionBody) =>
    restore(selection).then(onChanged, (failure: Error) => setError(failure.message));
  return (
    <div class="toolbar">
      <button type="button" disabled={ids.length === 0} onClick={() => void act({ ids })}>
        Restore {ids.length === 0 ? "chosen" : `${countText(ids.length)} chosen`}
      </button>
      <button type="button" onClick={() => void act(allOf(filters))}>
        Restore all that match
      </button>
      <span class="dim">These were deleted. They are removed permanently when their time is over.</span>
      <ErrorText message={error} />
    </div>
  );
}

function EntryTable(props: {
  entries: readonly Entry[];
  chosen: ReadonlySet<string>;
  onChoose: (chosen: ReadonlySet<string>) => void;
}) {
  const { entries, chosen, onChoose } = props;
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    onChoose(next);
  };
  const areAll = entries.length > 0 && entries.every(({ id }) => chosen.has(id));
  return (
    <table class="compact">
      <thead>
        <tr>
          <th>
            <input
              type="checkbox"
              aria-label="Choose all shown"
              checked={areAll}
              onChange={() => onChoose(new Set(areAll ? [] : entries.map(({ id }) => id)))}
            />
          </th>
          <th>Entry</th>
          <th>Exporter</th>
          <th>Reason</th>
          <th>Error</th>
          <th class="number">Records</th>
          <th class="number">Size</th>
          <th class="number" title={CALLS_MEANING}>
            Calls
          </th>
          <th>Failed</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.id}>
            <td class="actions">
              <input
                type="checkbox"
                aria-label={`Choose ${entry.id}`}
                checked={chosen.has(entry.id)}
                onChange={() => toggle(entry.id)}
              />
            </td>
            <td class="wide">
              <a class="mono" href={linkTo("failures", [entry.id])}>
                {entry.id}
              </a>
              <Preview entry={entry} />
            </td>
            <td data-label="Exporter">
              <Text value={entry.exporter} inline />
            </td>
            <td data-label="Reason">{entry.failure?.reason.replaceAll("_", " ")}</td>
            <td data-label="Error" class="wide">
              <Text value={entry.failure?.error.class ?? ""} inline max={60} />
              {entry.failure !== undefined && (
                <div class="dim">
                  <Text value={messageText(entry.failure.error)} inline max={120} />
                </div>
              )}
            </td>
            <td data-label="Records" class="number">
              {countText(entry.items)}
            </td>
            <td data-label="Size" class="number">
              {bytesText(entry.bytes)}
            </td>
            <td data-label="Calls" class="number">
              {entry.calls}
            </td>
            <td data-label="Failed">
              <Ago at={entry.failure?.at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
