import type { Signal } from "#otlp/signals";
import type { Processor, RecordViewOf } from "../component.js";
import {
  defineConnector,
  defineExporter,
  defineExtension,
  defineProcessor,
  defineReceiver,
  type FactoryDefinition,
  type SignalsOption,
} from "../define.js";
import type {
  BuiltInConnectorFactory,
  BuiltInExporterFactory,
  BuiltInExtensionFactory,
  BuiltInProcessorContext,
  BuiltInProcessorFactory,
  BuiltInReceiverFactory,
} from "./component.js";

/** Like `defineReceiver`, for a receiver that needs more than plugins see. */
export const defineBuiltInReceiver: <C>(
  definition: FactoryDefinition<BuiltInReceiverFactory<C>, C> & SignalsOption,
) => BuiltInReceiverFactory = defineReceiver;

/** Like `defineProcessor`, for a processor that needs more than plugins see. */
export const defineBuiltInProcessor: <C, S extends Signal = Signal>(
  definition: BuiltInProcessorDefinition<C, S>,
) => BuiltInProcessorFactory = defineProcessor;

interface BuiltInProcessorDefinition<C, S extends Signal>
  extends Omit<FactoryDefinition<BuiltInProcessorFactory<C>, C>, "create"> {
  readonly signals?: readonly S[];
  create(config: C, context: BuiltInProcessorContext): Processor<RecordViewOf<S>>;
}

/** Like `defineExporter`, for an exporter that needs more than plugins see. */
export const defineBuiltInExporter: <C>(
  definition: FactoryDefinition<BuiltInExporterFactory<C>, C> & SignalsOption,
) => BuiltInExporterFactory = defineExporter;

/** Like `defineConnector`, for a connector that needs more than plugins see. */
export const defineBuiltInConnector: <C>(
  definition: FactoryDefinition<BuiltInConnectorFactory<C>, C>,
) => BuiltInConnectorFactory = defineConnector;

/** Like `defineExtension`, for an extension that needs more than plugins see. */
export const defineBuiltInExtension: <C>(
  definition: FactoryDefinition<BuiltInExtensionFactory<C>, C>,
) => BuiltInExtensionFactory = defineExtension;
