import { join } from "node:path";
import { onTestFinished } from "vitest";
import { Dice } from "../../support/telemetry/wire-forms.js";
import { type CampaignReport, runCampaignOf } from "../campaign.js";
import { deadLetters } from "../dead-letters.js";
import { progress } from "../long-form.js";
import { Victim } from "../victim.js";
import { mixedConfig } from "./config.js";
import { startMixedClients } from "./load.js";
import { Backends, keepCounts, keepNumbers } from "./sinks.js";
import { type Sums, Ways } from "./ways.js";

/** Records that are acknowledged in every life, so that each kill has something to hit. */
const LOAD = 30;
const isBad = (number: number) => number % 53 === 7;

export interface Found {
  readonly report: CampaignReport;
  /** Requests that backends had kept and knew again. */
  readonly repeated: number;
  readonly missing: Readonly<Record<string, readonly number[]>>;
  readonly deadLetters: { readonly good: number; readonly bad: number };
  readonly ways: Sums;
}

export interface MixedSettings {
  /** A directory of the agent's own. */
  readonly home: string;
  readonly seed: number;
  readonly kills: number;
  /** Where the queues are, if not in `home`: keys of the extension `reliability`. */
  readonly store?: object;
  /** How many times longer the agent lives than usual. */
  readonly stretch?: number;
}

/**
 * Everything at once: records over HTTP, JSON and gRPC, in and out, with bad ones among them; sampled traces; connectors;
 * encrypted queues. The backends keep a request once, by its key: what arrives more often than clients have sent it, the
 * agent has put into a queue twice.
 */
export async function runMixed({ home, seed, kills, store, stretch = 1 }: MixedSettings): Promise<Found> {
  const logs = new Ways(["http", "json", "grpc", "count of logs"], { http: isBad, json: isBad, grpc: isBad });
  const spans = new Ways(["traces", "sampled", "span_metrics", "count of spans"]);
  const sink = new Backends();
  onTestFinished(() => sink.close());
  const backends = {
    http: await sink.http(keepNumbers(logs, "http")),
    json: await sink.http(keepNumbers(logs, "json")),
    grpc: await sink.grpc(keepNumbers(logs, "grpc")),
    traces: await sink.http(keepNumbers(spans, "traces")),
    sampled: await sink.http(keepNumbers(spans, "sampled")),
    metrics: await sink.http(
      keepCounts({
        "chaos.logs": (numbers) => logs.book("count of logs").arrive(numbers),
        "chaos.spans": (numbers) => spans.book("count of spans").arrive(numbers),
        "traces.span.metrics.calls": (numbers) => spans.book("span_metrics").arrive(numbers),
      }),
    ),
  };
  const victim = Victim.agent(home, mixedConfig(home, backends, store));
  onTestFinished(() => victim.end("SIGKILL"));
  const missing = () => ({ ...logs.missing(), ...spans.missing() });
  const book = {
    get acknowledgedCount() {
      return logs.acknowledgedCount + spans.acknowledgedCount;
    },
    missing: () => Object.values(missing()).flat(),
  };
  const startLoad = () => startMixedClients({ victim, dice: new Dice(seed + 1), logs, spans });
  const settings = { seed, sink, victim, book, startLoad, say: progress, load: LOAD, stretch };
  const report = await runCampaignOf({ ...settings, kills, patienceMs: 120_000 });
  await victim.end("SIGTERM");
  const dead = await deadLetters({ config: join(home, "sluice.json") });
  const bad = dead.filter(isBad).length;
  return {
    ...{ report, repeated: sink.repeated, missing: missing() },
    deadLetters: { good: dead.length - bad, bad },
    ways: { ...logs.sums(), ...spans.sums() },
  };
}
