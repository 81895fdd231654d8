import { FAILURE_REASONS } from "../../../src/runtime/contract/operations/failure-reasons.js";
import { useAbilities } from "../../api/abilities.js";
import type { Exporter } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Choice } from "../../parts/choice.js";
import { useDraft } from "../../parts/use-draft.js";
import { goTo, linkTo } from "../../route.js";

/** The filters in the address, as the API takes them. */
export type Filters = Readonly<Record<string, string>>;

const SPANS: readonly (readonly [string, string])[] = [
  ["15", "15 minutes"],
  ["60", "1 hour"],
  ["1440", "1 day"],
  ["10080", "1 week"],
];
const TEXTS: readonly (readonly [string, string, string])[] = [
  ["category", "Category", "schema"],
  ["event", "Event name", "order.*"],
  ["attribute", "Attribute", "tenant=acme"],
  ["text", "Text", "timeout"],
  ["where", "OTTL condition", 'attributes["http.status"] == 500'],
];
/** These search in records, so they are only for users who may see unmasked data. */
const RECORD_FILTERS = ["attribute", "text", "where"];
export const FILTER_NAMES = ["exporter", "reason", "signature", "minutes", "deleted", ...TEXTS.map(([name]) => name)];

const OTHER_LABELS: Readonly<Record<string, string>> = {
  exporter: "Exporter",
  reason: "Reason",
  signature: "Cause",
  minutes: "Failed within",
  deleted: "Deleted",
};

/** The name of a filter as the page shows it. */
export function filterLabel(name: string): string {
  return OTHER_LABELS[name] ?? TEXTS.find(([known]) => known === name)?.[1] ?? name;
}

/** Filters for the API: `minutes` becomes a start time, rounded to the minute so that pages stay consistent. */
export function apiFilters(filters: Filters): Record<string, string> {
  const { minutes, ...rest } = filters;
  const known = Object.fromEntries(Object.entries(rest).filter(([name]) => FILTER_NAMES.includes(name)));
  if (minutes === undefined || !/^\d+$/.test(minutes)) return known;
  const since = Math.floor(Date.now() / 60_000 - Number(minutes)) * 60_000;
  return { ...known, since: new Date(since).toISOString() };
}

/** The address of a new replay of all that match. Without filters these are all dead letters. */
export function replayLink(filters: Filters): string {
  const { minutes: _, ...others } = filters;
  const asked = { ...others, since: apiFilters(filters)["since"] };
  const isFiltered = Object.values(asked).some((value) => value !== undefined && value !== "");
  return linkTo("replay", ["new"], isFiltered ? asked : { all: "true" });
}

/** Selections apply at once; text fields apply when they are submitted. */
export function FilterBar({ filters, view }: { filters: Filters; view: string | undefined }) {
  const { data } = useLoad<{ exporters: readonly Exporter[] }>("/exporters");
  const abilities = useAbilities();
  const mayReveal = abilities?.hasRole("reveal") ?? true;
  const isShut = (name: string) => !mayReveal && RECORD_FILTERS.includes(name);
  const draft = useDraft(filters);
  const apply = (changed: Filters = {}) => goTo("failures", [], { ...draft.values, ...changed, view });
  const clear = () => {
    draft.clear();
    goTo("failures", [], { view });
  };
  const select = (name: string, label: string, options: readonly (readonly [string, string])[]) => (
    <Choice
      label={label}
      value={draft.values[name] ?? ""}
      choices={[["", "any"], ...options]}
      onChange={(value) => apply({ [name]: value })}
    />
  );
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      {select(
        "exporter",
        "Exporter",
        (data?.exporters ?? []).map(({ id }) => [id, id] as const),
      )}
      {select(
        "reason",
        "Reason",
        FAILURE_REASONS.map((reason) => [reason, reason.replaceAll("_", " ")] as const),
      )}
      {select("minutes", "Failed within", SPANS)}
      {TEXTS.filter(([name]) => abilities?.hasFilter(name)).map(([name, label, example]) => (
        <label class="field" key={name}>
          <span>{label}</span>
          <input
            value={draft.values[name] ?? ""}
            placeholder={isShut(name) ? "needs the role reveal" : example}
            disabled={isShut(name)}
            title={isShut(name) ? "It looks into records, which needs the role reveal" : undefined}
            spellcheck={false}
            onInput={(event) => draft.type(name, event.currentTarget.value)}
          />
        </label>
      ))}
      <footer>
        <button type="submit" class="primary">
          Filter
        </button>
        <button type="button" onClick={clear}>
          Clear
        </button>
      </footer>
    </form>
  );
}
