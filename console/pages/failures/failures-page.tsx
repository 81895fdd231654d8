import type { Route } from "../../route.js";
import { linkTo } from "../../route.js";
import { Entries } from "./entries.js";
import { EntryPage } from "./entry-page.js";
import { FilterBar, type Filters } from "./filters.js";
import { Groups } from "./groups.js";

/** Dead letters: grouped by cause, as a list, or one of them in detail. */
export function FailuresPage({ route }: { route: Route }) {
  const [id] = route.rest;
  if (id !== undefined && id !== "") return <EntryPage id={id} />;
  const { view, ...filters } = route.query;
  const isList = view === "entries" || filters["signature"] !== undefined;
  return (
    <>
      <h1>Failures</h1>
      <FilterBar filters={filters} view={view} />
      <Tabs filters={filters} isList={isList} />
      {isList ? <Entries filters={filters} /> : <Groups filters={filters} />}
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
