/** What the runtime and the components of this package have beyond what plugins see. */

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
