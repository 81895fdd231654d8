import { useState } from "preact/hooks";
import type {
  InsightAnswer,
  InsightAnswerRow,
  InsightLabel,
  InsightSort,
} from "../../../src/runtime/contract/insight/insight-answers.js";
import { Ago, Badge, Empty, Facts, type Tone } from "../../parts/bits.js";
import { bytesText, countOf, countText } from "../../parts/format.js";
import { Sparkline } from "../../parts/sparkline.js";
import { Text } from "../../parts/text.js";
import { linkTo, type Route } from "../../route.js";
import { CutDialog, cutActions } from "./cut-dialog.js";
import { moneyText } from "./money-text.js";

/** The columns that rows can be sorted by; the largest first, names in order. */
export const SORT_NAMES: readonly (readonly [InsightSort, string])[] = [
  ["bytes", "Bytes"],
  ["records", "Records"],
  ["cost", "Cost"],
  ["series", "Series"],
  ["last_seen", "Last seen"],
  ["name", "Name"],
];

interface CostTableProps {
  readonly answer: InsightAnswer;
  readonly query: Route["query"];
  readonly sort: InsightSort;
}

/** One row per service, pattern or other name. A row opens to its details, and leads to configs that cut it. */
export function CostTable({ answer, query, sort }: CostTableProps) {
  const { rows, by } = answer;
  const [cutting, setCutting] = useState<InsightAnswerRow>();
  if (rows.length === 0) return <Empty>Nothing of this kind has passed in the last hour.</Empty>;
  const hasSeries = rows.some(({ seriesCount }) => seriesCount !== undefined);
  // Only what goes to an exporter with a price costs something.
  const hasCost = rows.some(({ costPerDay }) => costPerDay !== null && costPerDay > 0);
  const header = (name: InsightSort, text: string, isNumber = true) => (
    <th class={isNumber ? "number" : ""} aria-sort={sort !== name ? "none" : isNumber ? "descending" : "ascending"}>
      <a href={linkTo("cost", [], { ...query, sort: name })}>
        {text}
        <span aria-hidden="true">{sort === name ? (isNumber ? " ▾" : " ▴") : ""}</span>
      </a>
    </th>
  );
  return (
    <>
      <table class="compact">
        <thead>
          <tr>
            {header("name", "Name", false)}
            <th>Signal</th>
            {header("bytes", "Bytes")}
            {header("records", "Records")}
            {hasSeries && header("series", "Series")}
            {hasCost && header("cost", "Per day")}
            <th>Last hour</th>
            <th>Now</th>
            <th>
              <span class="hidden-label">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.signal} ${row.context} ${row.name}`}>
              <td class="wide">
                <RowDetails row={row} by={by} query={query} />
              </td>
              <td data-label="Signal">{row.signal}</td>
              <td data-label="Bytes" class="number">
                {bytesText(row.bytes)}
                <div class="dim">{shareText(row.share)}</div>
              </td>
              <td data-label="Records" class="number">
                {countText(Math.round(row.records))}
              </td>
              {hasSeries && (
                <td data-label="Series" class="number">
                  {row.seriesCount === undefined ? "" : countText(Math.round(row.seriesCount))}
                </td>
              )}
              {hasCost && (
                <td data-label="Per day" class="number">
                  {row.costPerDay === null ? "" : moneyText(row.costPerDay)}
                </td>
              )}
              <td data-label="Last hour">
                <Sparkline
                  values={row.series}
                  label={`Bytes in each of the last 60 minutes, at most ${bytesText(Math.max(0, ...row.series))}`}
                />
              </td>
              <td data-label="Now">
                <Fate row={row} />
              </td>
              <td class="actions">
                {cutActions(by, row).length > 0 && (
                  <button type="button" onClick={() => setCutting(row)}>
                    Cut…
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {cutting !== undefined && (
        <CutDialog by={by} place={query["place"]} row={cutting} onClose={() => setCutting(undefined)} />
      )}
    </>
  );
}

const FATES: Readonly<Record<InsightAnswerRow["now"]["state"], Tone>> = {
  kept: "good",
  sampled: "info",
  dropped: "warn",
  unknown: "off",
};

/** Shows whether the config keeps, samples or drops it now. */
function Fate({ row: { now } }: { row: InsightAnswerRow }) {
  const isPart = now.state === "sampled" && now.kept !== null;
  return <Badge tone={FATES[now.state]}>{isPart ? `${shareText(now.kept!)} kept` : now.state}</Badge>;
}

function shareText(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

interface DetailProps {
  readonly row: InsightAnswerRow;
  readonly by: InsightAnswer["by"];
  readonly query: Route["query"];
}

/** The name, and behind it what else is known, with links to what it consists of. */
function RowDetails({ row, by, query }: DetailProps) {
  const { name, context, service, isShared, error, firstSeen, lastSeen, example, labels, seriesError } = row;
  const isExact = error.bytes === 0 && error.records === 0;
  return (
    <details>
      <summary>
        <Text value={name} inline max={160} />
        {context !== undefined && <span class="dim"> {context}</span>}
      </summary>
      <Facts
        rows={[
          ...(service === undefined
            ? []
            : ([["Service", <ServiceName key="service" name={service} isShared={isShared === true} />]] as const)),
          ["First seen", <Ago key="first" at={firstSeen} />],
          ["Last seen", <Ago key="last" at={lastSeen} />],
          [
            "Exact to",
            isExact
              ? "every record was counted"
              : `± ${bytesText(error.bytes)}, ± ${countOf(Math.round(error.records), "record")}`,
          ],
          ...(seriesError === undefined ? [] : ([["Series", `± ${shareText(seriesError)}`]] as const)),
          ...(example === undefined ? [] : ([["Example", <Text key="example" value={example} max={300} />]] as const)),
        ]}
      />
      {labels !== undefined && labels.length > 0 && <Labels labels={labels} />}
      {by === "exporter" && (
        <p>
          <a href={linkTo("cost", [], { by: "service", place: name })}>Services that it gets</a>{" "}
          <a href={linkTo("cost", [], { by: "pattern", place: name })}>Log patterns that it gets</a>
        </p>
      )}
      {by === "service" && (
        <p>
          {PARTS_OF_SERVICE.filter(([, , signal]) => signal === row.signal).map(([part, text]) => (
            <a key={part} href={linkTo("cost", [], { ...query, by: part, service: name, limit: undefined })}>
              {text}
            </a>
          ))}
        </p>
      )}
      {by === "metric" && (
        <p>
          <a href={linkTo("cost", [], { ...query, by: "cardinality", sort: "series" })}>Series and labels of metrics</a>
        </p>
      )}
    </details>
  );
}

/** The parts of a service, by signal. */
const PARTS_OF_SERVICE = [
  ["pattern", "Its log patterns", "logs"],
  ["span", "Its spans", "traces"],
  ["metric", "Its metrics", "metrics"],
] as const;

function ServiceName({ name, isShared }: { name: string; isShared: boolean }) {
  return (
    <>
      <Text value={name} inline max={80} />
      {isShared && <span class="dim"> and others</span>}
    </>
  );
}

/** The labels of a metric, the one first that makes the most series. */
function Labels({ labels }: { labels: readonly InsightLabel[] }) {
  return (
    <ul class="plain" aria-label="Labels">
      {labels.map(({ label, values, seriesWithout }) => (
        <li key={label}>
          <code>
            <Text value={label} inline max={80} />
          </code>{" "}
          <span class="dim">
            {countOf(Math.round(values), "value")}, {countText(Math.round(seriesWithout))} series without it
          </span>
        </li>
      ))}
    </ul>
  );
}
