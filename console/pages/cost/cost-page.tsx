import type { ComponentChildren } from "preact";
import {
  INSIGHT_BY_OF_SERVICE,
  type InsightAnswer,
  type InsightSort,
} from "../../../src/runtime/contract/insight/insight-answers.js";
import type { InsightBy } from "../../../src/runtime/contract/insight/insight-snapshot.js";
import { query } from "../../api/client.js";
import { useLoad } from "../../api/use-load.js";
import { Load } from "../../parts/bits.js";
import { bytesText, countOf, countText } from "../../parts/format.js";
import { ScrollText } from "../../parts/scroll-text.js";
import { Sparkline } from "../../parts/sparkline.js";
import { Text } from "../../parts/text.js";
import { goTo, linkTo, type Route } from "../../route.js";
import { CostTable, SORT_NAMES } from "./cost-table.js";
import { moneyText } from "./money-text.js";

const EVERY_MS = 10_000;
const ROWS = 50;
const MAX_ROWS = 1_000;

/** The ways to group traffic, in the order of the tabs. */
const TABS: readonly (readonly [InsightBy, string])[] = [
  ["service", "Services"],
  ["pattern", "Log patterns"],
  ["attribute", "Attributes"],
  ["metric", "Metrics"],
  ["span", "Spans"],
  ["cardinality", "Cardinality"],
  ["exporter", "Exporters"],
  ["severity", "Severities"],
  ["scope", "Scopes"],
  ["duplicates", "Duplicates"],
];
const SIGNALS = ["logs", "traces", "metrics"];

/** The parts of the traffic and their cost, by the extension `insight`, and configs that would cut it. */
export function CostPage({ route }: { route: Route }) {
  const general = useLoad<InsightAnswer>("/insight?limit=1", EVERY_MS);
  return (
    <>
      <h1>Cost</h1>
      <Load of={general} part="Cost">
        {(answer) => (answer.enabled ? <Costs query={route.query} general={answer} /> : <SwitchedOff />)}
      </Load>
    </>
  );
}

/** The form and the tabs stay while rows are loaded, so that they keep the focus. */
function Costs({ query: shown, general }: { query: Route["query"]; general: InsightAnswer }) {
  const { place, signal, service, limit } = shown;
  const by = TABS.find(([name]) => name === shown["by"])?.[0] ?? "service";
  const sort = SORT_NAMES.find(([name]) => name === shown["sort"])?.[0] ?? "bytes";
  // Each exporter is a place of its own.
  const asked = {
    by,
    place: by === "exporter" ? undefined : place,
    signal,
    service: hasServices(by) ? service : undefined,
    sort,
    limit: rowLimit(limit),
  };
  const loaded = useLoad<InsightAnswer>(`/insight${query(asked)}`, EVERY_MS);
  return (
    <>
      <CostForm query={shown} sort={sort} general={general} />
      {hasServices(by) && service !== undefined && <ServiceChip service={service} query={shown} />}
      <nav class="tabs" aria-label="Group by">
        {TABS.map(([name, title]) => (
          <a
            key={name}
            href={linkTo("cost", [], {
              ...shown,
              by: name,
              limit: undefined,
              service: hasServices(name) ? service : undefined,
            })}
            aria-current={name === by ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <Load of={loaded} part="Cost">
        {(answer) => (
          <>
            <Totals answer={answer} />
            <Notes answer={answer} />
            <CostTable answer={answer} query={shown} sort={sort} />
            <MoreRows answer={answer} query={shown} />
          </>
        )}
      </Load>
    </>
  );
}

function hasServices(by: InsightBy): boolean {
  return INSIGHT_BY_OF_SERVICE.includes(by);
}

/** The chosen service, with a link that removes it. */
function ServiceChip({ service, query: shown }: { service: string; query: Route["query"] }) {
  return (
    <ul class="chips" aria-label="Filters in effect">
      <li class="chip">
        <span class="dim">mostly from service:</span> <Text value={service} inline max={80} />
        <a href={linkTo("cost", [], { ...shown, service: undefined })} title="Remove this filter">
          <span class="hidden-label">Remove the filter service</span>
          <span aria-hidden="true">×</span>
        </a>
      </li>
    </ul>
  );
}

function rowLimit(limit: string | undefined): number {
  const asked = Number(limit);
  return asked >= 1 && asked <= MAX_ROWS ? Math.floor(asked) : ROWS;
}

const EXAMPLE = `extensions:
  insight: {}
service:
  extensions: [insight]`;

function SwitchedOff() {
  return (
    <section class="card" aria-label="How to switch it on">
      <p>
        This page shows which services, log patterns, attributes, metrics and spans have the most bytes, and what they
        cost. The extension <code>insight</code> counts that, and it does not run on this agent. Add it to the config
        and reload:
      </p>
      <ScrollText name="code">{EXAMPLE}</ScrollText>
      <p class="dim">
        To see money per day, set <code>price</code>. To see what the config drops, set{" "}
        <code>places: [receivers, exporters]</code>. <a href={linkTo("config")}>Go to Config</a>.
      </p>
    </section>
  );
}

interface FormProps {
  readonly query: Route["query"];
  readonly sort: InsightSort;
  readonly general: InsightAnswer;
}

function CostForm({ query: shown, sort, general: { place, places } }: FormProps) {
  const onChange = (changed: Route["query"]) => goTo("cost", [], { ...shown, limit: undefined, ...changed });
  const select = (name: string, label: string, value: string, options: ComponentChildren) => (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange({ [name]: event.currentTarget.value })}>
        {options}
      </select>
    </label>
  );
  const option = (value: string, text: string) => (
    <option key={value} value={value}>
      {text}
    </option>
  );
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {select(
        "place",
        "Read at",
        shown["place"] ?? place,
        places.map(({ name, kind }) => option(name, kind === "all" ? `all ${name}` : `${kind} ${name}`)),
      )}
      {select("signal", "Signal", shown["signal"] ?? "", [
        option("", "all"),
        ...SIGNALS.map((signal) => option(signal, signal)),
      ])}
      {select(
        "sort",
        "Sort by",
        sort,
        SORT_NAMES.map(([name, text]) => option(name, text)),
      )}
    </form>
  );
}

function Totals({ answer: { total, place, from, to } }: { answer: InsightAnswer }) {
  const minutes = Math.max(1, Math.round((Date.parse(to) - Date.parse(from)) / 60_000));
  return (
    <ul class="totals" aria-label="Totals">
      <li>
        <strong>{bytesText(total.bytes)}</strong>in {countOf(minutes, "minute")} at{" "}
        <Text value={place} inline max={80} />
      </li>
      <li>
        <strong>{countText(total.records)}</strong>records
      </li>
      {total.costPerDay !== null && total.costPerDay > 0 && (
        <li>
          <strong>{moneyText(total.costPerDay)}</strong>per day
        </li>
      )}
      <li>
        <Sparkline values={total.series} label="All bytes in each of the last 60 minutes" />
      </li>
    </ul>
  );
}

/** How exact the numbers are, and what is missing. */
function Notes({ answer: { sample, overflow, rows, unavailableWorkers = [] } }: { answer: InsightAnswer }) {
  const { batches, readBatches } = sample;
  const isFateUnknown = rows.length > 0 && rows.every(({ now }) => now.state === "unknown");
  return (
    <>
      {overflow.note !== null && (
        <p class="note">
          <Text value={overflow.note} max={400} />
        </p>
      )}
      {unavailableWorkers.length > 0 && (
        <p class="note">Without worker {unavailableWorkers.join(", ")}, which did not answer.</p>
      )}
      <p class="dim">
        {readBatches < batches
          ? `Estimated from ${countText(readBatches)} of ${countOf(batches, "batch", "batches")}. `
          : "All batches were read. "}
        {isFateUnknown && (
          <>
            To see what the config keeps and drops, set <code>places: [receivers, exporters]</code> of{" "}
            <code>insight</code>.
          </>
        )}
      </p>
    </>
  );
}

function MoreRows({ answer: { rows, rowCount }, query: shown }: { answer: InsightAnswer; query: Route["query"] }) {
  if (rows.length >= rowCount) return null;
  const limit = String(Math.min(rows.length * 4, MAX_ROWS));
  return (
    <p class="dim">
      {countText(rows.length)} of {countText(rowCount)}.{" "}
      {rows.length < MAX_ROWS && <a href={linkTo("cost", [], { ...shown, limit })}>Show more</a>}
    </p>
  );
}
