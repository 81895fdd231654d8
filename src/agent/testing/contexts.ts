import type { Clock, ComponentContext, ComponentFactory, ComponentKind } from "#contract";
import { noMetrics, silentLogger } from "#contract";
import { assertionError } from "./eventually.js";

/** What a component of this type is given in a test. */
export function testContext(kind: ComponentKind, id: string, clock: Clock, random: () => number): ComponentContext {
  return { id, kind, logger: silentLogger, metrics: noMetrics, clock, random };
}

/** What the component's `create` gets for a config as it stands in the YAML; fails with all that is wrong with it. */
export function parseConfig({ schema, type }: ComponentFactory, config: unknown): unknown {
  const { data, error } = schema.safeParse(config ?? {});
  if (error === undefined) return data;
  const lines = error.issues.map(({ path, message }) => `${[type, ...path].map(String).join(".")}: ${message}`);
  throw assertionError(`the config is not valid:\n${lines.join("\n")}`);
}
