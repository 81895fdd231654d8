import { onTestFinished } from "vitest";
import { createSluice, type Sluice } from "../../../src/index.js";
import { type Batch, defineExporter, type Signal } from "../../../src/plugin.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { FakeClock } from "../../support/fake-clock.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

/**
 * A program with Sluice in it, on a clock of the test: for windows and rates that would take a running agent minutes, or all
 * of a machine. What its processors let through is in `batches`.
 */
export interface ClockedProgram {
  readonly sluice: Sluice;
  readonly clock: FakeClock;
  readonly batches: Batch[];
  /** The records let through so far. */
  readonly count: number;
}

/** Starts it with one pipeline of these processors, and stops it at the end of the test. */
export async function startProgram(
  processors: Readonly<Record<string, object>>,
  signal: Signal = "logs",
): Promise<ClockedProgram> {
  const clock = new FakeClock();
  const batches: Batch[] = [];
  const kept = defineExporter({
    type: "kept",
    defaults: { sending_queue: { enabled: false }, retry_on_failure: { enabled: false } },
    create: () => ({
      async send(batch) {
        batches.push(batch);
        return undefined;
      },
    }),
  });
  const pipeline = { receivers: ["app"], processors: Object.keys(processors), exporters: ["kept"] };
  const config = { processors, exporters: { kept: {} }, service: { pipelines: { [signal]: pipeline } } };
  const options = { config, components: [kept], clock, logger: silentLogger, queueDirectory: temporaryFolder() };
  const sluice = await createSluice(options);
  await sluice.start();
  onTestFinished(() => sluice.stop(0));
  return {
    sluice,
    clock,
    batches,
    get count() {
      return batches.reduce((sum, batch) => sum + batch.count, 0);
    },
  };
}
