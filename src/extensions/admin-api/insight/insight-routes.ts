import {
  INSIGHT_ACTIONS,
  INSIGHT_BY,
  INSIGHT_BY_OF_SERVICE,
  INSIGHT_SORTS,
  type InsightAnswer,
  type InsightAnswerRow,
  type InsightBy,
  type InsightCut,
  type InsightReading,
} from "#contract/insight";
import { AdminError } from "#contract/operations";
import { SIGNALS } from "#otlp/signals";
import { diffLines, withContext } from "#text";
import type { Signal } from "../../../plugin.js";
import { badRequest } from "../http-error.js";
import { readCount, readParameters } from "../parameters.js";
import { type ApiRoute, type RouteRequest, view } from "../route.js";
import { CutError, type CutProcessors, type CutRequest, cutProcessors } from "./cut-processors.js";
import { cutRehearsalRoutes } from "./cut-rehearsal.js";
import { insertProcessors, pipelinesTo } from "./insert-processors.js";
import { type InsightQuery, insightAnswer, RESOURCE_LABEL } from "./insight-answer.js";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;
const DEFAULT_N = 10;
const MAX_N = 1_000_000;
const DIFF_CONTEXT = 3;
const DAY_MS = 86_400_000;
const INSIGHT_PARAMETERS = ["by", "place", "signal", "service", "limit", "sort"];
const CUT_PARAMETERS = ["action", "by", "name", "signal", "n", "context", "label", "pipeline", "place"];
/** Stands for lines that stay as they are. */
const OMITTED = { kind: "same", text: "..." } as const;

/** Routes for what the traffic consists of. Names are masked; examples of lines need the role of tapped records. */
export const insightRoutes: readonly ApiRoute[] = [
  view("GET /insight", { needs: "components", query: INSIGHT_PARAMETERS }, show),
  view("GET /insight/cut", { needs: "components", query: CUT_PARAMETERS }, async (request) => ({
    body: await makeCut(request),
  })),
  ...cutRehearsalRoutes(makeCut),
];

async function show({ host, values, actor }: RouteRequest) {
  const { by = "service", place, signal, service, limit, sort = "bytes" } = values;
  if (service !== undefined && !INSIGHT_BY_OF_SERVICE.some((each) => each === by))
    throw badRequest(`service can only be given with by=${INSIGHT_BY_OF_SERVICE.join(", ")}`);
  const asked: InsightQuery = {
    by: oneOf("by", by, INSIGHT_BY),
    place,
    signal: signal === undefined ? undefined : oneOf("signal", signal, SIGNALS),
    service,
    limit: readCount("limit", limit, DEFAULT_LIMIT, MAX_LIMIT),
    sort: oneOf("sort", sort, INSIGHT_SORTS),
    showsExamples: actor.roles.has("reveal"),
  };
  const answer = insightAnswer(await readingOf(host, asked.by), asked);
  if (place !== undefined && answer.enabled) requirePlace(answer, place);
  return { body: answer };
}

async function makeCut({ host, inspection, query }: RouteRequest): Promise<InsightCut> {
  const values = readParameters(query, CUT_PARAMETERS);
  const by = oneOf("by", values["by"], INSIGHT_BY);
  const signal = oneOf("signal", values["signal"], SIGNALS);
  const { name, label, context, pipeline, place } = values;
  if (name === undefined) throw badRequest("name what to cut: name=NAME of a row");
  const answer = await wholeAnswer(host, by, signal, place);
  const isRow = (row: InsightAnswerRow) => row.name === name && (context === undefined || row.context === context);
  const row = answer.rows.find(isRow);
  const labelled = by === "metric" ? (await wholeAnswer(host, "cardinality", signal, place)).rows.find(isRow) : row;
  const labels = labelled?.labels?.map((each) => each.label).filter((each) => each !== RESOURCE_LABEL) ?? [];
  const request: CutRequest = {
    action: oneOf("action", values["action"], INSIGHT_ACTIONS),
    by,
    name,
    signal,
    label,
    labels,
    n: readCount("n", values["n"], DEFAULT_N, MAX_N),
    context: context ?? row?.context,
  };
  const made = madeProcessors(request);
  const { graph } = inspection;
  const isExporter = graph.nodes.some((node) => node.kind === "exporter" && node.name === place);
  const pipelines = pipeline === undefined ? pipelinesTo(graph, signal, isExporter ? place : undefined) : [pipeline];
  const isFirst = place === "receivers" || graph.nodes.some((node) => node.kind === "receiver" && node.name === place);
  const config = inspection.config();
  const changed = insertProcessors(config ?? {}, { processors: made.processors, pipelines, isFirst });
  const overlay = config === undefined ? { processors: made.processors } : changed.overlay;
  const { stringify } = await import("yaml");
  const yaml = (value: unknown) => stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
  const diff = config && diffLines(yaml(changed.before).split("\n"), yaml(changed.after).split("\n"));
  return {
    action: request.action,
    yaml: yaml(withEscapedDollars(overlay)),
    processors: overlay.processors as InsightCut["processors"],
    pipelines: config === undefined ? pipelines : changed.pipelines,
    diff: diff === undefined ? null : withContext(diff, DIFF_CONTEXT).map((line) => line ?? OMITTED),
    saves: savingOf(request, row, labelled, answer),
    notes: made.notes,
    rehearse: "sluice rehearse CONFIG cut.yaml --against CONFIG --for 60s",
  };
}

/** Names come from traffic: a `${file:...}` in one must not be read when the config is loaded. */
function withEscapedDollars(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("$", "$$$$");
  if (Array.isArray(value)) return value.map(withEscapedDollars);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withEscapedDollars(each)]));
}

function madeProcessors(request: CutRequest): CutProcessors {
  try {
    return cutProcessors(request);
  } catch (error) {
    if (error instanceof CutError) throw badRequest(error.message);
    throw error;
  }
}

async function wholeAnswer(host: RouteRequest["host"], by: InsightBy, signal: Signal, place: string | undefined) {
  const reading = await readingOf(host, by);
  return insightAnswer(reading, { by, place, signal, limit: MAX_LIMIT * 10, sort: "bytes", showsExamples: false });
}

async function readingOf(host: RouteRequest["host"], by: InsightBy): Promise<InsightReading> {
  return (await host.insight?.(by)) ?? { snapshots: [], unavailableWorkers: [] };
}

/** Returns the saving of a cut per day, if the traffic stays as it is. */
function savingOf(
  { action, n, label }: CutRequest,
  row: InsightAnswerRow | undefined,
  labelled: InsightAnswerRow | undefined,
  { total, from, to }: InsightAnswer,
): InsightCut["saves"] {
  if (row === undefined || action === "dedup") return null;
  const perDay = DAY_MS / Math.max(1, Date.parse(to) - Date.parse(from));
  const series = labelled?.seriesCount ?? row.seriesCount ?? 0;
  const without = labelled?.labels?.find((each) => each.label === label)?.seriesWithout ?? series;
  const left =
    action === "sample" ? 1 / n : action === "aggregate_label" && series > 0 ? Math.min(1, without / series) : 0;
  const saved = 1 - left;
  return {
    records: action === "remove_attribute" ? 0 : Math.round(row.records * saved * perDay),
    bytes: Math.round(row.bytes * saved * perDay),
    series: Math.round(series * saved),
    share: total.bytes > 0 ? (row.bytes * saved) / total.bytes : 0,
    costPerDay: row.costPerDay === null ? null : row.costPerDay * saved,
  };
}

function requirePlace({ places }: InsightAnswer, place: string): void {
  if (places.some(({ name }) => name === place)) return;
  const known = places.map(({ name }) => name).join(", ") || "none yet";
  throw new AdminError("not_found", `traffic is not read at ${JSON.stringify(place)}; it is read at: ${known}`);
}

function oneOf<T extends string>(name: string, text: string | undefined, known: readonly T[]): T {
  const found = known.find((each) => each === text);
  if (found !== undefined) return found;
  throw badRequest(`${name} must be one of: ${known.join(", ")}`);
}
