import { decodeMessage, MESSAGES } from "#otlp/bytes";
import {
  type ExpositionFormat,
  escapeHelp,
  escapeLabel,
  labelText,
  sampleHead,
  sampleNumber,
} from "./exposition-text.js";
import type { ExposedFamily, ExposedSeries } from "./families.js";
import type { Label } from "./labels.js";
import type { LastValues } from "./last-values.js";

interface RenderSettings {
  readonly format: ExpositionFormat;
  readonly sendTimestamps: boolean;
  /** The name of the metric that describes resources; empty to leave it out. */
  readonly targetInfoName: string;
}

/** Characters made in one go, which takes some tenths of a millisecond. */
const CHUNK_CHARACTERS = 32_768;

/**
 * Returns the page of a scrape in pieces. The caller lets other work run in between. Changes made meanwhile may or may
 * not appear, but a series is always consistent.
 */
export function* renderPage(values: LastValues, now: number, settings: RenderSettings): Generator<string> {
  const since = values.shownSince(now);
  const targets = new Map<string, readonly Label[]>();
  let text = "";
  const families = [...values.families.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const family of families) {
    const head = familyHead(family, settings.format);
    let isEmpty = true;
    for (const series of family.series.values()) {
      if (series.seenAt < since) continue;
      if (isEmpty) text += head;
      isEmpty = false;
      text += seriesText(series, settings);
      noteTarget(series, targets);
      if (text.length < CHUNK_CHARACTERS) continue;
      yield text;
      text = "";
    }
  }
  yield `${text}${targetInfo(targets, settings)}${settings.format === "openmetrics" ? "# EOF\n" : ""}`;
}

function familyHead(
  { name, type, help }: Pick<ExposedFamily, "name" | "type" | "help">,
  format: ExpositionFormat,
): string {
  const isOpen = format === "openmetrics";
  const isCounter = isOpen && type === "counter";
  const shown = isCounter && name.endsWith("_total") ? name.slice(0, -"_total".length) : name;
  const shownType = isCounter && shown === name ? "unknown" : type;
  const quoted = /^[A-Za-z_:][A-Za-z0-9_:]*$/.test(shown) ? shown : `"${escapeLabel(shown)}"`;
  const helpLine = help === "" ? "" : `# HELP ${quoted} ${escapeHelp(help, format)}\n`;
  return `${helpLine}# TYPE ${quoted} ${shownType}\n`;
}

function seriesText(series: ExposedSeries, settings: RenderSettings): string {
  switch (series.family.type) {
    case "histogram":
      return histogramText(series, settings);
    case "summary":
      return summaryText(series, settings);
    default:
      return numberText(series, settings);
  }
}

function numberText(series: ExposedSeries, settings: RenderSettings): string {
  const { name, type } = series.family;
  const exemplar =
    type === "counter" && name.endsWith("_total")
      ? exemplarText(series, settings, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
      : "";
  return `${sampleHead(name, series.labels)} ${sampleNumber(series.value, settings.format)}${timeText(series, settings)}${exemplar}\n`;
}

/**
 * The last bucket contains all observations. Buckets of an exponential histogram cannot be written as text, so it has
 * no other bucket.
 */
function histogramText(series: ExposedSeries, settings: RenderSettings): string {
  const { labels } = series;
  const { name } = series.family;
  const time = timeText(series, settings);
  const comma = labels === "" ? "" : ",";
  const bucket = (bound: number, count: number, above: number) =>
    `${sampleHead(`${name}_bucket`, `${labels}${comma}le="${sampleNumber(bound, settings.format)}"`)} ${sampleNumber(count, "prometheus")}${time}${exemplarText(series, settings, above, bound)}\n`;
  let text = "";
  let total = 0;
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < series.bounds.length; i++) {
    const bound = series.bounds[i]!;
    total += series.counts[i] ?? 0;
    if (!(bound > last) || bound === Number.POSITIVE_INFINITY) continue;
    text += bucket(bound, total, last);
    last = bound;
  }
  text += bucket(Number.POSITIVE_INFINITY, series.count, last);
  if (series.hasSum)
    text += `${sampleHead(`${name}_sum`, labels)} ${sampleNumber(series.sum, settings.format)}${time}\n`;
  return `${text}${sampleHead(`${name}_count`, labels)} ${sampleNumber(series.count, "prometheus")}${time}\n`;
}

function summaryText(series: ExposedSeries, settings: RenderSettings): string {
  const { labels } = series;
  const { name } = series.family;
  const time = timeText(series, settings);
  const comma = labels === "" ? "" : ",";
  let text = "";
  series.bounds.forEach((quantile, i) => {
    const head = sampleHead(name, `${labels}${comma}quantile="${sampleNumber(quantile, settings.format)}"`);
    text += `${head} ${sampleNumber(series.counts[i]!, settings.format)}${time}\n`;
  });
  text += `${sampleHead(`${name}_sum`, labels)} ${sampleNumber(series.sum, settings.format)}${time}\n`;
  return `${text}${sampleHead(`${name}_count`, labels)} ${sampleNumber(series.count, "prometheus")}${time}\n`;
}

function timeText({ timeMs }: ExposedSeries, { sendTimestamps, format }: RenderSettings): string {
  if (!sendTimestamps || timeMs === 0) return "";
  return ` ${format === "openmetrics" ? timeMs / 1000 : timeMs}`;
}

/** Returns the latest exemplar with a value in (above, upTo], in OpenMetrics format. */
function exemplarText(series: ExposedSeries, { format }: RenderSettings, above: number, upTo: number): string {
  if (format !== "openmetrics" || series.exemplars === undefined) return "";
  for (const bytes of series.exemplars.toReversed()) {
    const exemplar = decodeMessage(MESSAGES["Exemplar"]!, bytes);
    const value = Number(exemplar["asDouble"] ?? exemplar["asInt"] ?? 0);
    if (value > above === false || value > upTo) continue;
    const ids: Label[] = [];
    for (const [label, field] of [
      ["span_id", "spanId"],
      ["trace_id", "traceId"],
    ] as const) {
      const id = exemplar[field] as Uint8Array | undefined;
      if (id !== undefined && id.length > 0) ids.push([label, Buffer.from(id).toString("hex")]);
    }
    const time = exemplar["timeUnixNano"] as bigint | undefined;
    return ` # {${labelText(ids)}} ${sampleNumber(value, format)}${time ? ` ${Number(time / 1_000_000n) / 1000}` : ""}`;
  }
  return "";
}

/**
 * For each job and instance, the first resource counts. A resource without one of them cannot be distinguished, and is
 * left out.
 */
function noteTarget({ resource }: ExposedSeries, targets: Map<string, readonly Label[]>): void {
  if (resource.identity.length < 2) return;
  const key = resource.targetKey;
  if (!targets.has(key)) targets.set(key, resource.targetLabels);
}

function targetInfo(
  targets: ReadonlyMap<string, readonly Label[]>,
  { targetInfoName: name, format }: RenderSettings,
): string {
  if (name === "" || targets.size === 0) return "";
  const one = sampleNumber(1, format);
  let text = familyHead({ name, type: "gauge", help: "Target metadata" }, format);
  for (const labels of targets.values()) text += `${sampleHead(name, labelText(labels))} ${one}\n`;
  return text;
}
