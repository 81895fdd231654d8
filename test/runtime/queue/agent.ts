import type { Outcome } from "../../../src/plugin.js";
import { type FedAgent, type FedOptions, startFed } from "../../support/fed-agent.js";
import { logs } from "../../support/telemetry/batches.js";

export { cleanUp } from "../../support/fed-agent.js";

export interface WrappedAgent extends FedAgent {
  /** Hands in a batch of log records with these bodies. */
  send(...bodies: string[]): Promise<Outcome>;
}

export interface WrappedOptions extends FedOptions {
  /** Keys of the extension, as YAML in flow style, each after a comma. */
  readonly defaults?: string;
  /** By id, in the order of the pipeline. */
  readonly processors?: Readonly<Record<string, unknown>>;
}

/** An agent whose exporters are wrapped, with its queues in a directory of its own, fed by hand. Started. */
export async function startWrapped(exporters: string, options: WrappedOptions = {}): Promise<WrappedAgent> {
  const { defaults = "", processors = {}, ...rest } = options;
  const ids = [...exporters.matchAll(/^ {2}([\w/]+):/gm)].map((match) => match[1]);
  const yamlOf = (directory: string) => `
processors: ${JSON.stringify(processors)}
exporters:
${exporters}
extensions: {reliability: {directory: ${JSON.stringify(directory)}${defaults}}, health_check: {endpoint: "127.0.0.1:0"}}
service:
  extensions: [reliability, health_check]
  pipelines: {logs: {receivers: [hand], processors: [${Object.keys(processors).join(", ")}], exporters: [${ids.join(", ")}]}}
`;
  const fed = await startFed(yamlOf, rest);
  return { ...fed, send: (...bodies) => fed.hand(logs(...bodies)) };
}
