import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { SocketExchange } from "../../../../src/runtime/workers/exchange/socket-exchange.js";
import { type CollectingExporter, collectingExporter } from "../../../support/collecting-exporter.js";
import { type FedAgent, type FedOptions, startFed } from "../../../support/fed-agent.js";

/** A worker of an agent, in this process, with an exporter `collect` of its own. */
export interface FedWorker extends FedAgent {
  readonly exchange: SocketExchange;
  readonly collected: CollectingExporter;
}

/** Of all workers, as if they had the same parent. */
export const KEY = Buffer.alloc(32, 7);

const directories: string[] = [];

export function socketDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-workers-"));
  directories.push(directory);
  return directory;
}

export function removeSocketDirectories(): void {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
}

export async function startWorker(
  number: number,
  count: number,
  sockets: string,
  yamlOf: (directory: string) => string,
  options: FedOptions = {},
): Promise<FedWorker> {
  const worker = { number, count, socketDirectory: sockets, key: KEY };
  const exchange = new SocketExchange({ worker, logger: silentLogger, metrics: noMetrics });
  const collected = collectingExporter();
  const components = [collected.factory, ...(options.components ?? [])];
  const fed = await startFed(yamlOf, { ...options, components, exchange });
  return { ...fed, exchange, collected };
}

export function startWorkers(
  count: number,
  yamlOf: (directory: string) => string,
  options: (number: number) => FedOptions = () => ({}),
): Promise<FedWorker[]> {
  const sockets = socketDirectory();
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  return Promise.all(numbers.map((number) => startWorker(number, count, sockets, yamlOf, options(number))));
}
