import type { Clock, ComponentContext, ComponentFactory, ComponentKind } from "#contract";
import { noMetrics, silentLogger } from "#contract";
import { assertionError } from "./eventually.js";

/** The context that a component of this kind gets in a test. */
export function testContext(kind: ComponentKind, id: string, clock: Clock, random: () => number): ComponentContext {
  return { id, kind, logger: silentLogger, metrics: noMetrics, clock, random };
}

/** Parses a config, as in the YAML, for the component's `create`. Fails with all of its problems. */
export function parseConfig({ schema, type }: ComponentFactory, config: unknown): unknown {
  const { data, error } = schema.safeParse(config ?? {});
  if (error === undefined) return data;
  const lines = error.issues.map(({ path, message }) => `${[type, ...path].map(String).join(".")}: ${message}`);
  throw assertionError(`the config is not valid:\n${lines.join("\n")}`);
}
