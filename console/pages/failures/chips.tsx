import { query } from "../../api/client.js";
import type { GroupPage } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Text } from "../../parts/text.js";
import { linkTo } from "../../route.js";
import { type Filters, filterLabel } from "./filters.js";

/** The filters that are in effect, each with a button that removes it. */
export function FilterChips({ filters, isList }: { filters: Filters; isList: boolean }) {
  const given = Object.entries(filters).filter(([, value]) => value !== "");
  if (given.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters in effect">
      {given.map(([name, value]) => (
        <li key={name} class="chip">
          <span class="dim">{filterLabel(name)}:</span>{" "}
          {name === "signature" ? <CauseName filters={filters} /> : <Text value={shown(name, value)} inline max={80} />}
          <a
            href={linkTo("failures", [], { ...filters, [name]: undefined, view: isList ? "entries" : undefined })}
            title="Remove this filter"
          >
            <span class="hidden-label">Remove the filter {filterLabel(name)}</span>
            <span aria-hidden="true">×</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Shows the error behind a signature, because the signature itself means nothing to people. */
export function CauseName({ filters: { signature = "", exporter, deleted } }: { filters: Filters }) {
  const { data } = useLoad<GroupPage>(`/dead-letters/groups${query({ signature, exporter, deleted, limit: 1 })}`);
  const error = data?.groups[0]?.error;
  if (error === undefined) return <Text value={signature} inline max={16} />;
  const text = typeof error === "string" ? error : error.message || error.class;
  return <Text key={text} value={text} inline max={80} />;
}

function shown(name: string, value: string): string {
  if (name === "reason") return value.replaceAll("_", " ");
  if (name === "deleted") return "only";
  return name === "minutes" && Number(value) > 0 ? spanText(Number(value)) : value;
}

function spanText(minutes: number): string {
  if (minutes % 1440 === 0) return minutes === 1440 ? "1 day" : `${minutes / 1440} days`;
  if (minutes % 60 === 0) return minutes === 60 ? "1 hour" : `${minutes / 60} hours`;
  return `${minutes} minutes`;
}
