import type { ExporterFactory, Outcome } from "#contract";
import { isRefusal, toRefusal } from "#contract/errors";
import type { Signal } from "#otlp/signals";
import { lastingStores } from "../component-inputs.js";
import { check, eventually } from "../eventually.js";
import { runPipeline, type TestPipeline } from "../run-pipeline.js";
import { SAMPLE_ID, sampleIds } from "../samples.js";
import { type Cases, type ConformanceCase, type ConformanceOptions, suiteOf } from "./case.js";
import { checkOnce, ExporterHarness, neverAborted, type TestBackend } from "./exporter-harness.js";

/** Options of the exporter suite. */
export interface ExporterConformanceOptions extends ConformanceOptions {
  /** Called for each case: creates an empty backend that accepts everything. */
  readonly backend: () => Promise<TestBackend> | TestBackend;
  /** Signals to test; default: those of the exporter. */
  readonly signals?: readonly Signal[];
}

/** Cases that every exporter must pass, for each of its signals. */
export function exporterConformance(factory: ExporterFactory, options: ExporterConformanceOptions): ConformanceCase[] {
  const cases: [string, Cases[string]][] = (options.signals ?? factory.signals).flatMap((signal) =>
    Object.entries(CASES).map(([name, run]): [string, Cases[string]] => [
      `${name} (${signal})`,
      async (context) => {
        const backend = await options.backend();
        try {
          await run(new ExporterHarness(factory, signal, backend, context));
        } finally {
          await backend.close?.();
        }
      },
    ]),
  );
  return suiteOf(Object.fromEntries(cases), options);
}

const MANY = 20;

const CASES: Readonly<Record<string, (trial: ExporterHarness) => Promise<void>>> = {
  async "delivers every record once, with many sends at the same time"(trial) {
    const exporter = await trial.start();
    const sent = Array.from({ length: MANY }, () => trial.batch());
    await trial.withTimeout(
      Promise.all(sent.map((batch) => exporter.send(batch, neverAborted()))),
      "sends did not end",
    );
    await trial.checkTaken(sent.flatMap(sampleIds));
    await trial.stop(exporter);
  },

  async "does not write into the bytes it is given"(trial) {
    const exporter = await trial.start();
    const batch = trial.batch();
    const before = Buffer.from(batch.bytes);
    await trial.withTimeout(exporter.send(batch, neverAborted()), "the send did not end");
    check(before.equals(batch.bytes), "it wrote into the bytes of the batch; other exporters have the same bytes");
    await trial.stop(exporter);
  },

  async "says whether it makes sense to try again"(trial) {
    const exporter = await trial.start();
    if (trial.backend.answer !== undefined) {
      for (const kind of ["transient", "permanent"] as const) {
        trial.backend.answer(() => kind);
        const error = await trial.failureOf(
          exporter.send(trial.batch(), neverAborted()),
          `the backend's ${kind} refusal`,
        );
        const isPermanent = isRefusal(error) && error.kind === "permanent";
        const words = `a ${kind} refusal of the backend came out as ${toRefusal(error).kind}: ${toRefusal(error).message}`;
        check(isPermanent === (kind === "permanent"), words);
      }
      trial.backend.answer(() => "take");
      await trial.withTimeout(exporter.send(trial.batch(), neverAborted()), "a send after failed ones did not end");
    }
    await trial.stop(exporter);
  },

  async "gives up when it is told to"(trial) {
    const exporter = await trial.start();
    if (trial.backend.answer !== undefined) {
      let asked = 0;
      trial.backend.answer(() => {
        asked += 1;
        return "hang";
      });
      const controller = new AbortController();
      const sending = exporter.send(trial.batch(), controller.signal);
      sending.catch(() => {});
      await eventually(() => asked > 0, "nothing arrived at the backend", trial.patienceMs);
      controller.abort(new Error("told to give up"));
      await trial.failureOf(sending, "the abort of a send to a silent backend");
      trial.backend.answer(() => "take");
    }
    const late = exporter.send(trial.batch(), AbortSignal.abort(new Error("told to give up")));
    await trial.withTimeout(
      late.catch(() => {}) as Promise<unknown>,
      "a send with an abort that had fired did not end",
    );
    await trial.withTimeout(exporter.send(trial.batch(), neverAborted()), "a send after an aborted one did not end");
    await trial.stop(exporter);
  },

  async "loses nothing and sends nothing twice, whatever is answered and whenever it is stopped"(trial) {
    await checkShutdown(trial);
  },

  async "is retried by default if it has a queue"({ factory }) {
    const retry = factory.defaults?.["retry_on_failure"] as { enabled?: unknown; max_retries?: unknown } | undefined;
    const isOff = retry?.enabled === false || retry?.max_retries === 0;
    check(!isOff, "its defaults turn retries off, so with a queue the first failure would make a dead letter");
  },

  async "can be stopped twice, without a start, and be started again"(trial) {
    await trial.stop(trial.make());
    const first = await trial.start();
    const one = trial.batch();
    await trial.withTimeout(first.send(one, neverAborted()), "the send did not end");
    await trial.stop(first);
    await trial.stop(first);
    const second = await trial.start();
    const two = trial.batch();
    await trial.withTimeout(second.send(two, neverAborted()), "the send after a restart did not end");
    await trial.stop(second);
    await trial.checkTaken([one, two].flatMap(sampleIds));
  },
};

/**
 * Sends through a pipeline with a queue to a backend that fails at random, stops the pipeline while it sends, and
 * starts it again on the same queue. In the end every accepted record must have arrived exactly once or be a dead
 * letter, and never both.
 */
async function checkShutdown(trial: ExporterHarness): Promise<void> {
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

const ONE_BY_ONE = { batch: { flush_timeout: "0s", min_size: 0, max_size: 1, sizer: "requests" } };

function isBatching({ defaults }: ExporterHarness["factory"]): boolean {
  return (defaults?.["sending_queue"] as { readonly batch?: object } | undefined)?.batch !== undefined;
}

/** Sends every entry in its own call, retries at once, and never gives up. */
function configOf({ factory, signal, backend }: ExporterHarness): string {
  const exporter = {
    ...(backend.config as object | undefined),
    // A request a batch, also for exporters that wait for more by default.
    sending_queue: { enabled: true, num_consumers: 4, merge_backlog: false, ...(isBatching(factory) && ONE_BY_ONE) },
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
