import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSluice, type Logger, type Sluice, type SluiceOptions } from "../../../src/index.js";
import { type Batch, decodeTree, defineExporter, type Tree } from "../../../src/plugin.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";

const made: Sluice[] = [];
const folders: string[] = [];

/** Stops what was made, and removes its folders. */
export async function cleanUp(): Promise<void> {
  await Promise.all(made.splice(0).map((sluice) => sluice.stop(0)));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-embed-"));
  folders.push(folder);
  return folder;
}

/** A quiet Sluice that is stopped after the test. */
export async function make(options: SluiceOptions): Promise<Sluice> {
  const sluice = await createSluice({ logger: silentLogger, ...options });
  made.push(sluice);
  return sluice;
}

export async function started(options: SluiceOptions): Promise<Sluice> {
  const sluice = await make(options);
  await sluice.start();
  return sluice;
}

/** An exporter `kept` in memory, without a queue; `send` may be replaced. */
export function keeper(send: (batch: Batch) => Promise<void> = async () => {}) {
  const batches: Batch[] = [];
  const exporter = defineExporter({
    type: "kept",
    defaults: { sending_queue: { enabled: false }, retry_on_failure: { enabled: false } },
    create: () => ({
      async send(batch) {
        await send(batch);
        batches.push(batch);
        return undefined;
      },
    }),
  });
  return { batches, components: [exporter] };
}

/** A pipeline of logs from the program into the exporter `kept`. */
export const INTO_KEPT = {
  exporters: { kept: {} },
  service: { pipelines: { logs: { receivers: ["app"], exporters: ["kept"] } } },
};

/** The log records of batches, as OTLP's own fields. */
export function logRecords(batches: readonly Batch[]): Tree[] {
  return batches.flatMap((batch) =>
    (decodeTree(batch)["resourceLogs"] as Tree[]).flatMap((resource) =>
      (resource["scopeLogs"] as Tree[]).flatMap((scope) => scope["logRecords"] as Tree[]),
    ),
  );
}

/** The value of a counter or gauge, all its series added up. */
export function metric(sluice: Sluice, name: string): number {
  const found = sluice.metrics().filter((sample) => sample.name === name);
  return found.reduce((sum, sample) => sum + (sample.kind === "histogram" ? sample.count : sample.value), 0);
}

export const ACCEPTED = "otelcol_receiver_accepted_log_records";
export const REFUSED = "otelcol_receiver_refused_log_records";

/** A log that keeps its lines. */
export function keptLog(): { readonly lines: string[]; readonly logger: Logger } {
  const lines: string[] = [];
  const say = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const logger: Logger = { debug() {}, info() {}, warn: say, error: say, child: () => logger };
  return { lines, logger };
}
