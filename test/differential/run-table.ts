import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Case, CaseTable } from "./case-table.js";
import { type Feed, feed, type Places, preparePlaces } from "./feeds.js";
import { freePorts, type Sink, startSink } from "./sink.js";
import type { Subject } from "./subjects.js";
import { recordsOf, requestOf } from "./telemetry.js";
import { linesOfWrite } from "./written-series.js";

/** The result of a program for a case: records or lines, or that it does not start with the config. */
export type Output = "refused" | readonly unknown[];

interface Run {
  readonly number: number;
  readonly each: Case;
  /** Of the receiver, and of what the component itself listens on. */
  readonly ports: readonly [input: number, own: number];
}

/** Cases that are run at the same time: a busy agent would refuse more. Files are all there from the start. */
const MAX_CONCURRENT = 16;

const MAX_RETRIES = 20;
const RETRY_MS = 500;

/** The number in the sink of the first backend: more than any table has cases. */
const FIRST_BACKEND = 10_000;

/** How long nothing arrives before the runner takes the output to be complete. A scrape takes three seconds at most. */
const QUIET_MS = 2500;
const QUIET_SCRAPE_MS = 5000;

/** The same where more is expected: operators keep a part of a line for five seconds, and a slow machine looks late. */
const QUIET_EXPECTED_MS = 30_000;

/**
 * Runs all cases of a table in one start of a program, and gives their outputs by the names of the cases. Output that
 * comes late is awaited until it is as expected; output that is not expected is complete when no more arrives.
 */
export async function runTable(
  table: CaseTable,
  subject: Subject,
  expected: Readonly<Record<string, Output>> = {},
): Promise<Record<string, Output>> {
  const sink = await startSink();
  const places = await preparePlaces(table);
  const ports = await freePorts(table.cases.length * 2);
  const runs = table.cases.map(
    (each, number): Run => ({ number, each, ports: [ports[2 * number]!, ports[2 * number + 1]!] }),
  );
  const env = { ...table.env };
  const isAccepted = (some: readonly Run[]) => subject.accepts(configOf(table, some, sink, places, subject), env);
  const accepted = acceptedOf(runs, isAccepted);
  const outputs: Record<string, Output> = Object.fromEntries(runs.map(({ each }) => [each.name, "refused"]));
  const stop =
    accepted.length === 0 ? undefined : await subject.start(configOf(table, accepted, sink, places, subject), env);
  try {
    const waiting = [...accepted];
    const runNext = async () => {
      for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
        const statuses = await send(table, run);
        const after = expected[run.each.name]?.slice(statuses.length);
        outputs[run.each.name] = [...statuses, ...(await outputOf(table, run, sink, after))];
      }
    };
    const concurrent = table.feed === "file" ? accepted.length : MAX_CONCURRENT;
    await Promise.all(Array.from({ length: concurrent }, runNext));
  } finally {
    await stop?.();
    await sink.close();
    places.close();
  }
  return outputs;
}

/** The runs whose configs a program accepts. Few are refused, so halves of the table are tried before single cases. */
function acceptedOf(runs: readonly Run[], isAccepted: (some: readonly Run[]) => boolean): readonly Run[] {
  if (runs.length === 0 || isAccepted(runs)) return runs;
  if (runs.length === 1) return [];
  const middle = Math.ceil(runs.length / 2);
  return [runs.slice(0, middle), runs.slice(middle)].flatMap((half) => acceptedOf(half, isAccepted));
}

/** A config with a pipeline for each case. */
function configOf(
  table: CaseTable,
  runs: readonly Run[],
  sink: Sink,
  places: Places,
  { ownKeys = {} }: Subject,
): string {
  const own = Object.entries(ownKeys[table.component] ?? {}).map(([key, value]) => `"${key}": "${value}", `);
  const [section = "", type = ""] = table.component.split("/");
  const sections: Record<string, string[]> = { receivers: [], processors: [], connectors: [], exporters: [] };
  const pipelines: string[] = [];
  for (const run of runs) {
    const id = run.number;
    const url = sink.urlOf(id);
    const config = run.each.config
      .replace(/^\{/, `{${own.join("")}`)
      .replaceAll("CASE", `${id}`)
      .replaceAll("PORT", `${run.ports[1]}`)
      .replaceAll("SINK", url)
      .replaceAll("FOLDER", places.folder)
      .replaceAll("TARGET", places.target);
    sections[section]!.push(`  ${type}/${id}:\n${config.replace(/^(?=.)/gm, "    ")}`);
    if (table.feed === "otlp")
      sections["receivers"]!.push(`  otlp/${id}: {protocols: {http: {endpoint: "127.0.0.1:${run.ports[0]}"}}}`);
    if (section !== "exporters") sections["exporters"]!.push(`  ${sinkExporter(`${id}`, url)}`);
    pipelines.push(...pipelinesOf(table, section, type, id));
  }
  for (const [i, address] of table.backends.entries()) {
    sections["receivers"]!.push(`  otlp/backend${i}: {protocols: {grpc: {endpoint: "${address}"}}}`);
    sections["exporters"]!.push(`  ${sinkExporter(`backend${i}`, sink.urlOf(FIRST_BACKEND + i))}`);
    pipelines.push(
      `    ${table.signal}/backend${i}: {receivers: [otlp/backend${i}], exporters: [otlp_http/backend${i}]}`,
    );
  }
  const parts = Object.entries(sections).flatMap(([name, lines]) => (lines.length === 0 ? [] : [`${name}:`, ...lines]));
  const telemetry = "  telemetry: {metrics: {level: none}}";
  return [...parts, "service:", telemetry, "  pipelines:", ...pipelines, ""].join("\n");
}

function sinkExporter(name: string, url: string): string {
  return `otlp_http/${name}: {endpoint: "${url}", encoding: json, compression: none, sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}`;
}

function pipelinesOf(table: CaseTable, section: string, type: string, id: number): string[] {
  const pipeline = (signal: string, name: string, receiver: string, processors: string, exporter: string) =>
    `    ${signal}/${name}: {receivers: [${receiver}/${id}], processors: [${processors}], exporters: [${exporter}/${id}]}`;
  if (section === "processors") return [pipeline(table.signal, `${id}`, "otlp", `${type}/${id}`, "otlp_http")];
  if (section === "exporters") return [pipeline(table.signal, `${id}`, "otlp", "", type)];
  if (section === "receivers") return [pipeline(table.signal, `${id}`, type, "", "otlp_http")];
  return [pipeline(table.signal, `${id}_in`, "otlp", "", type), pipeline(table.to, `${id}_out`, type, "", "otlp_http")];
}

/**
 * Sends the inputs of a case one after the other, and gives the statuses that tell of a failure. Backends in the same
 * agent may start after the component that sends to them: its first refusals are no failures.
 */
async function send(table: CaseTable, { each, ports }: Run): Promise<{ status: number }[]> {
  const failures: { status: number }[] = [];
  for (const input of each.inputs) {
    if (table.feed !== "otlp") {
      const failure = await feed(table.feed, ports[1], input);
      if (failure !== undefined) failures.push(failure);
      continue;
    }
    let status = await post(table, ports[0], input);
    for (let retries = 0; table.backends.length > 0 && status === 503 && retries < MAX_RETRIES; retries++) {
      await sleep(RETRY_MS);
      status = await post(table, ports[0], input);
    }
    if (status !== 200) failures.push({ status });
  }
  return failures;
}

async function post(table: CaseTable, port: number, input: unknown): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/${table.signal}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(requestOf(table.signal, input)),
  });
  await response.arrayBuffer();
  return response.status;
}

async function outputOf(
  table: CaseTable,
  run: Run,
  sink: Sink,
  expected: string | readonly unknown[] | undefined,
): Promise<readonly unknown[]> {
  const quietMs = table.feed === "scrape" ? QUIET_SCRAPE_MS : QUIET_MS;
  const isMoreExpected = ({ length }: readonly unknown[]) =>
    expected === undefined ? isPolled(table.feed) && length === 0 : expected.length > 0;
  const isComplete = (output: readonly unknown[], since: number) =>
    Date.now() - since > (isMoreExpected(output) ? QUIET_EXPECTED_MS : quietMs);
  let seen: readonly unknown[] = [];
  let requests = -1;
  for (let since = Date.now(); ; await sleep(20)) {
    // Reading is work: files of many cases are read at the same time.
    if (table.feed === "file" && requests === sink.requestsOf(run.number).length) {
      if (isComplete(seen, since)) return seen;
      continue;
    }
    requests = sink.requestsOf(run.number).length;
    const text = JSON.stringify(await readOutput(table, run, sink));
    const now = JSON.parse(text) as readonly unknown[]; // recordings cannot tell -0 from 0
    if (!table.isLate || (now.length > 0 && isDeepStrictEqual(now, expected))) return now;
    if (!isDeepStrictEqual(now, seen)) since = Date.now();
    else if (isComplete(now, since)) return now;
    seen = now;
  }
}

function isPolled(feed: Feed): boolean {
  return feed === "scrape" || feed === "mysql" || feed === "file";
}

async function readOutput(table: CaseTable, { number, ports }: Run, sink: Sink): Promise<readonly unknown[]> {
  if (table.component === "exporters/prometheus") {
    const text = await (await fetch(`http://127.0.0.1:${ports[1]}/metrics`)).text();
    return text
      .split("\n")
      .map(withoutEmptyLabels)
      .filter((line) => line !== "")
      .sort();
  }
  if (table.component === "exporters/prometheus_remote_write")
    return (await Promise.all(sink.requestsOf(number).map(({ body }) => linesOfWrite(body)))).flat().sort();
  if (table.backends.length > 0)
    return table.backends.map((address, i) => ({ address, records: recordsAt(table, sink, FIRST_BACKEND + i) }));
  return recordsAt(table, sink, number);
}

/** To Prometheus a label without a value is none, and a help text that is empty too. */
function withoutEmptyLabels(line: string): string {
  if (/^# HELP \S+ $/.test(line)) return "";
  return line.startsWith("#") ? line : line.replace(/(?<=[{,])\w+="",?/g, "").replace(/,?\{\}|,(?=\} )/g, "");
}

function recordsAt(table: CaseTable, sink: Sink, number: number): unknown[] {
  const requests = sink.requestsOf(number).map(({ body }) => JSON.parse(body.toString()) as unknown);
  const records = recordsOf(table.to, requests, table.without).filter(
    (record) => !table.ignored.includes((record as { name?: string }).name ?? ""),
  );
  return table.isDistinct ? records.filter((each, i) => !isDeepStrictEqual(each, records[i - 1])) : records;
}
