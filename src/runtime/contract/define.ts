import { SIGNALS, type Signal } from "#otlp/signals";
import {
  CONTRACT_VERSION,
  type ComponentKind,
  type ConnectorFactory,
  type ExporterFactory,
  type ExtensionFactory,
  type Processor,
  type ProcessorContext,
  type ProcessorFactory,
  type ReceiverFactory,
  type RecordViewOf,
} from "./component.js";
import { type ConfigSchema, configSchema } from "./schema/config-schema.js";

/**
 * The definition of a component by its author. Without a schema any config is accepted as it is in the YAML. A processor, receiver
 * or exporter without `signals` handles all of them.
 */
export type FactoryDefinition<F extends { kind: unknown; contract: unknown }, C> = Omit<
  F,
  "kind" | "contract" | "schema" | "summary" | "signals"
> & {
  readonly schema?: ConfigSchema<C>;
  readonly summary?: string;
};

export interface SignalsOption {
  readonly signals?: readonly Signal[];
}

/** The config that `create` gets without a schema. */
type AnyConfig = Record<string, unknown>;

/**
 * Creates a type of receiver from its name, its schema and a function that creates one. Without a schema `create` gets
 * the config as it is in the YAML; without `signals` the receiver handles all of them.
 *
 * @example
 * const hello = defineReceiver({
 *   type: "hello",
 *   signals: ["logs"],
 *   create: (_config, { intakes, logger }) => ({
 *     async start() {
 *       const outcome = await intakes.logs?.accept(batchFromJson("logs", '{"resourceLogs":[]}'));
 *       if (outcome?.ok === false) logger.warn({ reason: outcome.refusal.message }, "the batch was refused");
 *     },
 *     stop: async () => {},
 *   }),
 * });
 */
export function defineReceiver<C = AnyConfig>(definition: FactoryDefinition<ReceiverFactory<C>, C> & SignalsOption) {
  return completeDefinition("receiver", definition, { signals: SIGNALS }) as ReceiverFactory;
}

interface ProcessorDefinition<C, S extends Signal> extends Omit<FactoryDefinition<ProcessorFactory<C>, C>, "create"> {
  readonly signals?: readonly S[];
  create(config: C, context: ProcessorContext): Processor<RecordViewOf<S>>;
}

/**
 * Creates a type of processor from its name, its schema and a function that creates one, for example with `eachRecord`.
 * Every pipeline that names it gets its own. With `signals: ["logs"]` the records in `eachRecord` are log records, and
 * so on; for TypeScript to infer that, `create` must have a parameter.
 *
 * @example
 * const addRegion = defineProcessor({
 *   type: "add_region",
 *   signals: ["logs"],
 *   schema: z.strictObject({ region: z.string() }),
 *   create: ({ region }) => eachRecord((record) => void record.attributes.set("cloud.region", region)),
 * });
 */
export function defineProcessor<C = AnyConfig, S extends Signal = Signal>(definition: ProcessorDefinition<C, S>) {
  return completeDefinition("processor", definition, { signals: SIGNALS }) as ProcessorFactory;
}

/**
 * Creates a type of exporter from its name, its schema and a function that creates one. The runtime adds queue,
 * retries, circuit breaker and dead letters, whose config keys are next to those of the schema.
 *
 * @example
 * const post = defineExporter({
 *   type: "post",
 *   schema: z.strictObject({ url: z.url(), token: secret().optional() }),
 *   create: ({ url }) => ({
 *     async send(batch, abort) {
 *       const response = await fetch(url, { method: "POST", body: batchToJson(batch), signal: abort });
 *       if (response.ok) return undefined;
 *       const kind = response.status === 400 ? "permanent" : "transient";
 *       throw new Refusal(kind, `${url} answered ${response.status}`, { status: `HTTP ${response.status}` });
 *     },
 *   }),
 * });
 */
export function defineExporter<C = AnyConfig>(definition: FactoryDefinition<ExporterFactory<C>, C> & SignalsOption) {
  return completeDefinition("exporter", definition, { signals: SIGNALS }) as ExporterFactory;
}

/**
 * Creates a type of connector from its name, its routes, its schema and a function that creates one. A connector is an
 * exporter to the pipeline that ends in it and a receiver to those that begin with it.
 *
 * @example
 * const first = defineConnector({
 *   type: "first",
 *   routes: [{ from: "logs", to: "logs" }],
 *   create: (_config, { targets }) => map((delivery) => delivery.to(targets.slice(0, 1))),
 * });
 */
export function defineConnector<C = AnyConfig>(definition: FactoryDefinition<ConnectorFactory<C>, C>) {
  return completeDefinition("connector", definition) as ConnectorFactory;
}

/**
 * Creates a type of extension from its name, its schema and a function that creates one. It runs only if
 * `service.extensions` names it.
 *
 * @example
 * const greeter = defineExtension({
 *   type: "greeter",
 *   create: (_config, { logger }) => ({ start: async () => logger.info({}, "hello"), stop: async () => {} }),
 * });
 */
export function defineExtension<C = AnyConfig>(definition: FactoryDefinition<ExtensionFactory<C>, C>) {
  return completeDefinition("extension", definition) as ExtensionFactory;
}

function completeDefinition(
  kind: ComponentKind,
  definition: { readonly schema?: ConfigSchema },
  defaults: object = {},
): unknown {
  const schema = configSchema(definition.schema);
  return { summary: "", ...defaults, ...definition, schema, kind, contract: CONTRACT_VERSION };
}
