import { FNV32_START, fnv32 } from "#codecs";
import type { ComponentSpec, ResolvedConfig } from "#config/resolve";
import type { Delivery, Intake } from "#contract";
import type { BuiltInConnectorFactory, BuiltInExtensionFactory, BuiltInProcessorFactory } from "#contract/built-in";
import type { Signal } from "#otlp/signals";
import { defineExtension } from "../../plugin.js";

/** Takes the deliveries that would go to an exporter, and settles them. */
type RehearsalOutlet = (delivery: Delivery, exporter: string) => void;

/**
 * Returns the config without everything that reaches outside. Receivers are not started; `intakes` gets what they would
 * hand in to, by receiver. Exporters are not created, and `outlet` gets their deliveries. Of the extensions none runs,
 * so there are no ports, queues and journals. State that agents share on a server is kept in the process instead.
 *
 * Each processor and connector gets random numbers that depend only on its name, so two configs treat a record the same
 * as far as they are the same.
 */
export function cutOffConfig(
  config: ResolvedConfig,
  intakes: Map<string, Readonly<Partial<Record<Signal, Intake>>>>,
  outlet: RehearsalOutlet,
): ResolvedConfig {
  const outlets = outletExtension(outlet);
  return {
    ...config,
    placeOf: (path) => config.placeOf(path),
    service: { ...config.service, intake: { ...config.service.intake, max_bytes: Number.POSITIVE_INFINITY } },
    receivers: mapSpecs(config.receivers, (spec, id) => ({
      ...spec,
      factory: {
        ...spec.factory,
        create(_config, context) {
          intakes.set(id, context.intakes);
          return { start: async () => {}, stop: async () => {} };
        },
      },
    })),
    processors: mapSpecs(config.processors, (spec) => ({
      ...withoutSharedState(spec),
      factory: withOwnRandom<BuiltInProcessorFactory>(spec.factory),
    })),
    connectors: mapSpecs(config.connectors, (spec) => ({
      ...withoutSharedState(spec),
      factory: withOwnRandom<BuiltInConnectorFactory>(spec.factory),
    })),
    exporters: mapSpecs(config.exporters, (spec) => ({
      ...spec,
      factory: { ...spec.factory, create: () => ({ send: async () => undefined }) },
    })),
    extensions: new Map([[outlets.id, outlets]]),
  };
}

function mapSpecs<Spec>(specs: ReadonlyMap<string, Spec>, change: (spec: Spec, id: string) => Spec): Map<string, Spec> {
  return new Map([...specs].map(([id, spec]) => [id, change(spec, id)]));
}

/** Every outlet settles its deliveries at once, so nothing waits or is retried. */
function outletExtension(outlet: RehearsalOutlet): ComponentSpec<BuiltInExtensionFactory> {
  const factory = defineExtension({
    type: "rehearsal",
    create: () => ({
      start: async () => {},
      stop: async () => {},
      outlets: ({ id }) => ({ accept: (delivery) => outlet(delivery, id), drain: async () => {}, abort() {} }),
    }),
  });
  return {
    id: "rehearsal",
    path: "extensions.rehearsal",
    factory,
    config: {},
    written: {},
    placeOf: () => undefined,
  };
}

/** A rehearsal must not use up limits that running agents share. */
function withoutSharedState<Spec extends ComponentSpec<unknown>>(spec: Spec): Spec {
  const { config } = spec;
  if (typeof config !== "object" || config === null || !("shared" in config)) return spec;
  return { ...spec, config: { ...config, shared: undefined, redis: undefined } };
}

function withOwnRandom<Factory extends BuiltInProcessorFactory | BuiltInConnectorFactory>(factory: Factory): Factory {
  const create = factory.create as (config: unknown, context: { readonly id: string }) => unknown;
  return {
    ...factory,
    create: (config: unknown, context: { readonly id: string; readonly pipeline?: string }) =>
      create.call(factory, config, { ...context, random: seededRandom(`${context.id} ${context.pipeline ?? ""}`) }),
  } as Factory;
}

/** Mulberry32: a small generator, good enough for decisions about samples. */
export function seededRandom(seed: string): () => number {
  const bytes = Buffer.from(seed);
  let state = fnv32(FNV32_START, bytes, 0, bytes.length);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
