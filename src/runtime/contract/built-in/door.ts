/** Types and definitions that the runtime and the components of this package have beyond those of plugins. */

export type {
  BuiltInComponentFactory,
  BuiltInConnectorFactory,
  BuiltInContext,
  BuiltInExporterFactory,
  BuiltInExtension,
  BuiltInExtensionContext,
  BuiltInExtensionFactory,
  BuiltInHost,
  BuiltInProcessorContext,
  BuiltInProcessorFactory,
  BuiltInReceiver,
  BuiltInReceiverContext,
  BuiltInReceiverFactory,
  IgnoredKeys,
  Listener,
} from "./component.js";
export {
  defineBuiltInConnector,
  defineBuiltInExporter,
  defineBuiltInExtension,
  defineBuiltInProcessor,
  defineBuiltInReceiver,
} from "./define.js";
