import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { expect, onTestFinished } from "vitest";
import { Batch, batchToJson } from "../../../src/plugin.js";
import { prometheusReceiver } from "../../../src/receivers/prometheus/component.js";
import { type Clock, systemClock } from "../../../src/runtime/contract/clock.js";
import type { Receiver, ReceiverContext } from "../../../src/runtime/contract/component.js";
import { type Logger, noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { TestIntake } from "../../../src/testing.js";

/** How series are read where nothing is configured. */
export const SCRAPE_SETTINGS = {
  targetLabels: [],
  externalLabels: [],
  honorLabels: true,
  metricRelabel: [],
  labelLimit: 0,
  labelNameLengthLimit: 0,
  labelValueLengthLimit: 0,
  scheme: "http",
  resource: [],
  honorTimestamps: true,
  trackTimestamps: false,
  trimSuffixes: false,
  sampleLimit: 0,
};

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that is scraped; ends with the test. */
export async function startTarget(
  answer: string | Answer,
): Promise<{ address: string; body: string; requests: IncomingMessage[] }> {
  const target = { address: "", body: typeof answer === "string" ? answer : "", requests: [] as IncomingMessage[] };
  const server = createServer((request, response) => {
    target.requests.push(request);
    if (typeof answer === "function") return answer(request, response);
    response.setHeader("Content-Type", "text/plain; version=0.0.4").end(target.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  target.address = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return target;
}

const MINUTE_MS = 60_000;
const HASTE = 600;

/** Minutes pass in a tenth of a second, so that scrapes come soon; but a scrape has the whole minute that is its timeout. */
const hastyClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * HASTE,
  after: (ms, run) => systemClock.after(ms === MINUTE_MS ? ms : ms / HASTE, run),
};

export interface Scraping {
  readonly receiver: Receiver;
  readonly intake: TestIntake;
  /** Lines of the log, as reasons. */
  readonly said: string[];
  /** The points of the scrape of this number, counted by `up`. */
  scrape(number: number): Point[];
  points(): Point[];
}

/** A receiver of these jobs, started; stops with the test. */
export async function startScraping(
  jobs: readonly object[],
  { intake = new TestIntake(), ...rest }: { intake?: TestIntake; global?: object; more?: object } = {},
): Promise<Scraping> {
  const said: string[] = [];
  const say = (fields: { reason?: string }, message: string) => void said.push(`${message}: ${fields.reason ?? ""}`);
  const logger = { ...silentLogger, warn: say, error: say, info: say } as Logger;
  const context: ReceiverContext = {
    id: "prometheus",
    kind: "receiver",
    logger,
    metrics: noMetrics,
    clock: hastyClock,
    random: () => 0.5,
    intakes: { metrics: intake },
  };
  const global = { scrape_interval: "60s", scrape_timeout: "60s", ...rest.global };
  const config = { config: { global, scrape_configs: jobs }, ...rest.more };
  const receiver = prometheusReceiver.create(prometheusReceiver.schema.parse(config), context);
  await receiver.start();
  onTestFinished(() => receiver.stop());
  const scrapes = () => {
    const all: Point[][] = [[]];
    for (const point of intake.batches.flatMap(pointsOf)) {
      all.at(-1)!.push(point);
      if (point.name === "scrape_series_added") all.push([]);
    }
    return all;
  };
  return {
    receiver,
    intake,
    said,
    scrape: (number) => scrapes()[number] ?? [],
    points: () => intake.batches.flatMap(pointsOf),
  };
}

/** A data point with what it belongs to. */
export interface Point {
  readonly name: string;
  readonly kind: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
  readonly isEnd: boolean;
  readonly value: number | undefined;
  /** As OTLP/JSON has it. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly metric: Readonly<Record<string, unknown>>;
}

/** As much of OTLP/JSON as is looked at. */
interface RequestJson {
  readonly resourceMetrics?: readonly {
    readonly resource: { readonly attributes?: unknown };
    readonly scopeMetrics: readonly { readonly metrics: readonly MetricJson[] }[];
  }[];
}

type MetricJson = { readonly name: string } & Readonly<Record<string, unknown>>;

/** Tests look again and again at what has arrived. */
const known = new WeakMap<Batch, readonly Point[]>();

/** Also checks that the bytes are valid OTLP, as another receiver would. */
export function pointsOf(batch: Batch): readonly Point[] {
  const points = known.get(batch) ?? readPoints(batch);
  known.set(batch, points);
  return points;
}

function readPoints(batch: Batch): Point[] {
  expect(Batch.admit("metrics", Buffer.from(batch.bytes)).count).toBe(batch.count);
  const { resourceMetrics = [] } = JSON.parse(Buffer.from(batchToJson(batch)).toString()) as RequestJson;
  return resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap((metric) => {
        const kind = ["gauge", "sum", "histogram", "summary", "exponentialHistogram"].find((each) => each in metric)!;
        const { dataPoints } = metric[kind] as { dataPoints: readonly Readonly<Record<string, unknown>>[] };
        return dataPoints.map((data) => ({
          name: metric.name,
          kind,
          labels: plain(data["attributes"]),
          resource: plain(resource.attributes),
          isEnd: data["flags"] === 1,
          value: data["asDouble"] === undefined ? undefined : Number(data["asDouble"]),
          data,
          metric,
        }));
      }),
    ),
  );
}

/** Numbers as their digits, lists as JSON. */
function plain(attributes: unknown): Record<string, string> {
  const list = (attributes ?? []) as { key: string; value: Readonly<Record<string, unknown>> }[];
  return Object.fromEntries(
    list.map(({ key, value }) => {
      const [own] = Object.values(value);
      return [key, typeof own === "string" ? own : JSON.stringify(own)];
    }),
  );
}

/** Values by name and labels, of gauges and sums that are no reports. */
export function values(points: readonly Point[]): Record<string, number | undefined> {
  const own = points.filter(({ name }) => name !== "up" && !name.startsWith("scrape_"));
  return Object.fromEntries(
    own.map(({ name, labels, value, isEnd }) => [seriesName(name, labels), isEnd ? undefined : value]),
  );
}

function seriesName(name: string, labels: Readonly<Record<string, string>>): string {
  const text = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return text.length === 0 ? name : `${name}{${text.join(",")}}`;
}

export const valueIn = (points: readonly Point[], name: string) => points.find((point) => point.name === name)?.value;
