import { useEffect, useState } from "preact/hooks";
import { type ApiError, get, query } from "../../api/client.js";
import type { Entry } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Empty, Load, Problem } from "../../parts/bits.js";
import { bytesText, countText } from "../../parts/format.js";
import { Needs } from "../../parts/needs.js";
import { Text } from "../../parts/text.js";
import { goTo, linkTo } from "../../route.js";
import { apiFilters, type Filters } from "./filters.js";

interface EntryPageOf {
  readonly entries: readonly Entry[];
  readonly cursor?: string;
}

const PAGE = 50;
/** More rows would only slow the browser down. */
const MAX_ROWS = 1_000;

/** A list of dead letters, newest first; selected ones can be replayed. */
export function Entries({ filters }: { filters: Filters }) {
  const asked = { ...apiFilters(filters), limit: String(PAGE) };
  const first = useLoad<EntryPageOf>(`/dead-letters${query(asked)}`);
  const [more, setMore] = useState<EntryPageOf[]>([]);
  const [wanted, setWanted] = useState(PAGE);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [failed, setFailed] = useState<ApiError>();
  const pages = first.data === undefined ? [] : [first.data, ...more];
  const entries = pages.flatMap((each) => each.entries);
  const cursor = pages.at(-1)?.cursor;
  const isSearching = cursor !== undefined && entries.length < Math.min(wanted, MAX_ROWS) && failed === undefined;
  const loadMore = () => {
    setFailed(undefined);
    setWanted(entries.length + PAGE);
  };
  useEffect(() => {
    setMore([]);
    setWanted(PAGE);
    setFailed(undefined);
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
          <Toolbar chosen={chosen} filters={filters} isEmpty={entries.length === 0} />
          {entries.length > 0 && <EntryTable entries={entries} chosen={chosen} onChoose={setChosen} />}
          {failed && <Problem error={failed} part="Dead letters" />}
          {isSearching && (
            <p class="empty" role="status">
              Searching… {countText(entries.length)} found so far.
            </p>
          )}
          {cursor === undefined && entries.length === 0 && <Empty>No dead letter matches.</Empty>}
          {!isSearching && cursor !== undefined && entries.length < MAX_ROWS && (
            <p>
              <button type="button" onClick={loadMore}>
                Load more
              </button>
            </p>
          )}
          {entries.length >= MAX_ROWS && <p class="dim">The first {countText(MAX_ROWS)}; filter to see others.</p>}
        </>
      )}
    </Load>
  );
}

function Toolbar({ chosen, filters, isEmpty }: { chosen: ReadonlySet<string>; filters: Filters; isEmpty: boolean }) {
  if (isEmpty) return null;
  const { minutes: _, ...others } = filters;
  const since = apiFilters(filters)["since"];
  return (
    <p class="toolbar">
      <Needs right="replay" what="Replaying dead letters">
        <button
          type="button"
          disabled={chosen.size === 0}
          onClick={() => goTo("replay", ["new"], { ids: [...chosen].join(",") })}
        >
          Replay {chosen.size === 0 ? "chosen" : `${chosen.size} chosen`}…
        </button>
        <a class="button" href={linkTo("replay", ["new"], { ...others, since })}>
          Replay all that match…
        </a>
      </Needs>
    </p>
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
    <table>
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
          <th class="number">Calls</th>
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
              <div class="dim">
                {entry.signal} <Text value={entry.failure?.names.join(", ") ?? ""} inline max={80} />
              </div>
            </td>
            <td data-label="Exporter">
              <Text value={entry.exporter} inline />
            </td>
            <td data-label="Reason">{entry.failure?.reason.replaceAll("_", " ")}</td>
            <td data-label="Error">
              <Text value={entry.failure?.error.class ?? ""} inline max={60} />
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
