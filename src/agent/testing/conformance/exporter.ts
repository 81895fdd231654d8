import type { ExporterFactory } from "#contract";
import { isRefusal, toRefusal } from "#contract/errors";
import type { Signal } from "#otlp/signals";
import { check, eventually } from "../eventually.js";
import { sampleIds } from "../samples.js";
import { type Cases, type ConformanceCase, type ConformanceOptions, suiteOf } from "./case.js";
import { ExporterHarness, neverAborted, type TestBackend } from "./exporter-harness.js";
import { checkShutdown } from "./exporter-shutdown.js";

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

const MANY = 40;

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
