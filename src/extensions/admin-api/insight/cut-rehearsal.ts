import { z } from "zod";
import type { CutRehearsal } from "#contract/api";
import type { InsightCut, InsightMeasured, InsightReading } from "#contract/insight";
import type { ExporterComparison, RehearsalReport } from "#contract/rehearsal";
import { maskText } from "#text";
import { badRequest } from "../http-error.js";
import {
  DEFAULT_REHEARSAL_BYTES,
  MAX_REHEARSAL_BYTES,
  MAX_REHEARSAL_SECONDS,
  rehearsalControl,
  shownRehearsal,
} from "../live/rehearsal-routes.js";
import { operatorFields } from "../operator.js";
import { type ApiRoute, type RouteRequest, route, view } from "../route.js";
import { insightAnswer } from "./insight-answer.js";
import { moneyFor } from "./merge-rows.js";

const MAX_RECORDS = 1_000_000;
const MAX_TITLE = 200;
const DAY_MS = 86_400_000;

const cutRehearsalBody = z.strictObject({
  ...operatorFields,
  seconds: z.number().min(1).max(MAX_REHEARSAL_SECONDS).default(30),
  share: z.number().gt(0).max(1).default(0.1),
  max_bytes: z.number().int().min(1).max(MAX_REHEARSAL_BYTES).default(DEFAULT_REHEARSAL_BYTES),
  max_records: z.number().int().min(1).max(MAX_RECORDS).default(200_000),
});

/**
 * Routes that rehearse a cut: the config that runs, with the processors of the cut, on a sample of the traffic. The
 * caller names a row as for `GET /insight/cut`, and cannot give a config.
 */
export function cutRehearsalRoutes(makeCut: (request: RouteRequest) => Promise<InsightCut>): readonly ApiRoute[] {
  return [
    view("GET /insight/cut/rehearsal", { needs: "nothing", query: [] }, async (request) => ({
      body: await shownCutRehearsal(request),
    })),
    route(
      { at: "POST /insight/cut/rehearsal", role: "configure" },
      { needs: "components", takes: cutRehearsalBody },
      async (request) => {
        const { host, query, body, operator: operatorOf } = request;
        const control = rehearsalControl(host);
        const { by, reason, ...wanted } = await body();
        const { yaml, diff, pipelines } = await makeCut(request);
        if (diff === null || pipelines.length === 0)
          throw badRequest("the config has no pipeline that this cut could be inserted into");
        const title = maskText(["action", "by", "name", "label"].map((name) => query.get(name) ?? "").join(" "));
        const operator = operatorOf({ by, reason });
        const { seconds, share, max_bytes: maxBytes, max_records: maxRecords } = wanted;
        control.start(
          { seconds, share, maxBytes, maxRecords, failOn: [], by: operator.actor },
          { title: title.trim().slice(0, MAX_TITLE), yaml },
        );
        await host.admin?.actingAs(operator).noteRehearsal?.({ ...wanted, cut: title.trim().slice(0, MAX_TITLE) });
        return { status: 202, body: await shownCutRehearsal(request) };
      },
    ),
    route(
      { at: "DELETE /insight/cut/rehearsal", role: "configure" },
      { needs: "nothing", query: [] },
      async (request) => {
        const control = rehearsalControl(request.host);
        if (control.current?.change !== undefined) control.cancel();
        return { body: await shownCutRehearsal(request) };
      },
    ),
  ];
}

async function shownCutRehearsal({ host, actor, clock }: RouteRequest): Promise<CutRehearsal> {
  const { current } = rehearsalControl(host);
  if (current?.change === undefined) return { rehearsal: null, measured: null };
  const { rehearsal } = shownRehearsal(current, actor, clock);
  const reading = (await host.insight?.("exporter")) ?? { snapshots: [], unavailableWorkers: [] };
  return { rehearsal, measured: current.report === undefined ? null : measuredSaving(current.report, reading) };
}

/**
 * The sample tells the share that is saved. The traffic of a day comes from the counts of insight, which the estimate
 * uses too, so that both can be compared.
 */
function measuredSaving(report: RehearsalReport, reading: InsightReading): InsightMeasured {
  const { snapshots } = reading;
  const answer = insightAnswer(reading, {
    by: "exporter",
    place: undefined,
    signal: undefined,
    limit: Number.POSITIVE_INFINITY,
    sort: "bytes",
    showsExamples: false,
  });
  const perDay = DAY_MS / Math.max(1, Date.parse(answer.to) - Date.parse(answer.from));
  const prices = Object.assign({}, ...snapshots.map((each) => each.prices)) as (typeof snapshots)[number]["prices"];
  const hasPrices = Object.keys(prices).length > 0;
  const sum = { records: 0, bytes: 0, cost: 0 };
  const unread = new Set<string>();
  for (const each of report.exporters) {
    const row = answer.rows.find(({ name, signal }) => name === each.exporter && signal === each.signal);
    if (row === undefined) {
      unread.add(each.exporter);
      continue;
    }
    const records = savedShare(each, "records") * row.records * perDay;
    const bytes = savedShare(each, "bytes") * row.bytes * perDay;
    const price = Object.hasOwn(prices, each.exporter) ? prices[each.exporter] : undefined;
    sum.records += records;
    sum.bytes += bytes;
    sum.cost += price === undefined ? 0 : moneyFor(price, records, bytes);
  }
  const { before, after } = report.total;
  return {
    records: Math.round(sum.records),
    bytes: Math.round(sum.bytes),
    share: before.bytes > 0 ? (before.bytes - after.bytes) / before.bytes : 0,
    costPerDay: hasPrices ? sum.cost : null,
    before,
    after,
    notes: notesOf(report, [...unread], Object.values(prices)),
  };
}

function savedShare({ before, after }: ExporterComparison, what: "records" | "bytes"): number {
  return before[what] > 0 ? (before[what] - after[what]) / before[what] : 0;
}

function notesOf(
  { sample, exporters, newErrors }: RehearsalReport,
  unread: readonly string[],
  prices: readonly { readonly perThousandSeries: number }[],
): string[] {
  const hasMetrics = exporters.some(({ signal }) => signal === "metrics");
  return [
    ...(unread.length > 0
      ? [`insight does not read what ${unread.join(", ")} gets: its saving per day is not included`]
      : []),
    ...(hasMetrics && prices.some(({ perThousandSeries }) => perThousandSeries > 0)
      ? ["the price of series is not included: a sample does not tell how many series there are"]
      : []),
    ...(newErrors > 0 ? [`the cut causes errors for ${newErrors} records of the sample`] : []),
    ...(sample.skipped > 0 ? [`${sample.skipped} records were left out of the sample because of limits`] : []),
  ];
}
