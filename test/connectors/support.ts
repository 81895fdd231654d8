import type { Batch, ConnectorFactory, Delivery, Origin, Outcome, Signal } from "../../src/plugin.js";
import { loadConfig } from "../../src/runtime/config/load.js";
import { Registry } from "../../src/runtime/config/resolve/registry.js";
import type { BuiltInConnectorContext } from "../../src/runtime/contract/built-in/component.js";
import { systemClock } from "../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../src/runtime/contract/observability.js";
import { builtins } from "../support/builtins.js";
import { feed, owed } from "../support/deliveries.js";

export interface Run {
  readonly out: readonly Delivery[];
  readonly outcomes: readonly Outcome[];
}

export function connectorContext(from: Signal, extra: Partial<BuiltInConnectorContext> = {}): BuiltInConnectorContext {
  return {
    id: "test",
    kind: "connector",
    from,
    to: from,
    targets: [],
    isAvailable: () => true,
    logger: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    random: Math.random,
    ...extra,
  };
}

/** Gives one batch to a new connector. */
export function through(
  connector: ConnectorFactory,
  config: object,
  batch: Batch,
  { origin = {}, ...extra }: Partial<BuiltInConnectorContext> & { origin?: Partial<Origin> } = {},
): Run {
  const { source, out } = feed(connector.create(connector.schema.parse(config), connectorContext(batch.signal, extra)));
  const { delivery, outcomes } = owed(batch, origin);
  source.next(delivery);
  return { out, outcomes };
}

/** The problems of a config with the built-in components: `line:column path: message`. */
export function problemsOf(text: string): string[] {
  const registry = new Registry(builtins);
  return loadConfig({ sources: [{ text, name: "c.yaml" }], registry }).problems.map(
    ({ place, path, message, suggestion }) =>
      `${place?.line}:${place?.column} ${path}: ${message}${suggestion === undefined ? "" : `; ${suggestion}`}`,
  );
}
