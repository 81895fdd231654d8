import type { Outcome } from "#contract";
import { check, eventually } from "../eventually.js";
import { runPipeline, type TestPipeline } from "../run-pipeline.js";
import { SAMPLE_ID, sampleIds } from "../samples.js";
import { lastingStores } from "../stores.js";
import { checkOnce, type ExporterHarness } from "./exporter-harness.js";

const MANY = 40;

/**
 * Sends through a pipeline with a queue to a backend that fails at random, stops the pipeline while it sends, and
 * starts it again on the same queue. In the end every accepted record must have arrived exactly once or be a dead
 * letter, and never both.
 */
export async function checkShutdown(trial: ExporterHarness): Promise<void> {
  const { random, backend, patienceMs } = trial;
  let answered = 0;
  backend.answer?.(() => {
    answered += 1;
    if (random.chance(0.3)) return "transient";
    return random.chance(0.1) ? "permanent" : "take";
  });
  const queue = lastingStores();
  const start = () => runPipeline(configOf(trial), { plugins: [trial.factory], queue, random: () => random.next() });

  const first = await start();
  const batches = Array.from({ length: MANY }, () => trial.batch());
  const sending = batches.map((batch) => first.send(batch));
  const enough = random.below(MANY);
  if (backend.answer !== undefined)
    await eventually(() => answered > enough, "nothing arrives at the backend", patienceMs);
  await trial.withTimeout(first.stop(patienceMs), "the pipeline did not stop");
  const outcomes = await Promise.all(sending);

  backend.answer?.(() => "take");
  const second = await start();
  const isDrained = () => second.admin.exporters().every(({ queue: { entries } }) => entries === 0);
  await eventually(isDrained, "not everything that was accepted before the restart was sent after it", patienceMs);
  const dead = await deadIds(second);
  await trial.withTimeout(second.stop(patienceMs), "the pipeline did not stop");
  await checkNothingLost(trial, acceptedIds(batches.map(sampleIds), outcomes), dead);
}

async function checkNothingLost({ backend }: ExporterHarness, accepted: ReadonlySet<string>, dead: readonly string[]) {
  if (backend.taken === undefined) return;
  const taken = (await backend.taken()).flatMap(sampleIds);
  checkOnce(taken, "arrived at the backend");
  checkOnce([...taken, ...dead], "arrived at the backend and is a dead letter too, or is one");
  const known = new Set([...taken, ...dead]);
  const lost = [...accepted].filter((id) => !known.has(id));
  check(lost.length === 0, () => `${lost.length} records were accepted and are nowhere, such as ${lost[0]}`);
  const foreign = taken.find((id) => !accepted.has(id));
  check(foreign === undefined, `record ${foreign} was refused, and arrived at the backend all the same`);
}

function acceptedIds(ids: readonly (readonly string[])[], outcomes: readonly Outcome[]): Set<string> {
  return new Set(ids.filter((_, i) => outcomes[i]!.ok).flat());
}

async function deadIds(pipeline: TestPipeline): Promise<string[]> {
  const letters = await pipeline.deadLetters();
  return letters.flatMap(({ records }) => records.map(({ attributes }) => String(attributes[SAMPLE_ID])));
}

/** Sends every entry in its own call, retries at once, and never gives up. */
function configOf({ factory, signal, backend }: ExporterHarness): string {
  const exporter = {
    ...(backend.config as object | undefined),
    sending_queue: { enabled: true, num_consumers: 4, merge_backlog: false },
    retry_on_failure: {
      enabled: true,
      initial_interval: "1ms",
      max_interval: "4ms",
      max_retries: 10_000,
      rate_limit: { per_second: 100_000, burst: 10_000 },
    },
    circuit_breaker: { enabled: false },
    replay: { ramp: "0s" },
  };
  const pipelines = { [signal]: { receivers: ["memory"], exporters: [factory.type] } };
  const yaml = JSON.stringify({ exporters: { [factory.type]: exporter }, service: { pipelines } });
  return yaml.replaceAll("$", "$$$$");
}
