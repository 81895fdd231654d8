import type { Clock } from "../contract/clock.js";
import type { ComponentContext, ComponentFactory, ComponentKind } from "../contract/component.js";
import { noMetrics, silentLogger } from "../contract/observability.js";
import { failure } from "./eventually.js";

/** What a component of this type is given in a test. */
export function contextOf(kind: ComponentKind, id: string, clock: Clock, random: () => number): ComponentContext {
  return { id, kind, logger: silentLogger, metrics: noMetrics, clock, random };
}

/** What the component's `create` gets for a config as it stands in the YAML; fails with all that is wrong with it. */
export function parsedConfig({ schema, type }: ComponentFactory, config: unknown): unknown {
  const { data, error } = schema.safeParse(config ?? {});
  if (error === undefined) return data;
  const words = error.issues.map(({ path, message }) => `${[type, ...path].map(String).join(".")}: ${message}`);
  throw failure(`the config is not valid:\n${words.join("\n")}`);
}
