import { useState } from "preact/hooks";
import { query } from "../../api/client.js";
import { reloadOverview } from "../../api/overview.js";
import type { Exporter, GroupPage } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import type { Route } from "../../route.js";
import { linkTo } from "../../route.js";
import { FilterChips } from "./chips.js";
import { DeletionNote } from "./delete-dialog.js";
import { Entries } from "./entries.js";
import { EntryPage } from "./entry-page.js";
import { apiFilters, FilterBar, type Filters } from "./filters.js";
import { Groups } from "./groups.js";
import { Totals } from "./totals.js";

const EVERY_MS = 10_000;
/** Polling interval while the agent is still counting its dead letters. */
const COUNTING_EVERY_MS = 1_000;

/** Dead letters: grouped by cause, as a list, or one of them in detail. */
export function FailuresPage({ route }: { route: Route }) {
  const [id] = route.rest;
  if (id !== undefined && id !== "") return <EntryPage id={id} />;
  return <DeadLetters route={route} />;
}

function DeadLetters({ route }: { route: Route }) {
  const { view, ...filters } = route.query;
  const isList = view === "entries" || filters["signature"] !== undefined;
  const [isCounting, setCounting] = useState(false);
  const [round, setRound] = useState(0);
  const counted = useLoad<GroupPage>(
    `/dead-letters/groups${query(apiFilters(filters))}`,
    isCounting ? COUNTING_EVERY_MS : EVERY_MS,
  );
  const exporters = useLoad<{ exporters: readonly Exporter[] }>("/exporters");
  const isPartial = counted.data?.isComplete === false;
  if (isPartial !== isCounting) setCounting(isPartial);
  const onChanged = () => {
    counted.reload();
    reloadOverview();
    setRound(round + 1);
  };
  return (
    <>
      <h1>Failures</h1>
      <FilterBar filters={filters} view={view} />
      <FilterChips filters={filters} isList={isList} />
      <DeletionNote onDone={onChanged} />
      <Tabs filters={filters} isList={isList} />
      <Totals counted={counted} exporters={exporters.data?.exporters ?? []} filters={filters} />
      {isList ? (
        <Entries key={round} filters={filters} onChanged={onChanged} />
      ) : (
        <Groups filters={filters} counted={counted} onChanged={onChanged} />
      )}
    </>
  );
}

function Tabs({ filters, isList }: { filters: Filters; isList: boolean }) {
  const { signature: _, ...others } = filters;
  return (
    <nav class="tabs" aria-label="Views">
      <a href={linkTo("failures", [], others)} aria-current={isList ? undefined : "page"}>
        By cause
      </a>
      <a href={linkTo("failures", [], { ...filters, view: "entries" })} aria-current={isList ? "page" : undefined}>
        Entries
      </a>
    </nav>
  );
}
