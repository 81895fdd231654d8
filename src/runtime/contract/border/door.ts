/** Guards that check what components create, hand on, return, throw and lose. */

export { checkComponent } from "./check-component.js";
export { assertObservable, assertSubscription, checkHandedIn, checkOutput, type OutputRules } from "./check-output.js";
export { GarbageCollection } from "./garbage-collection.js";
export { guardExporter } from "./guard-exporter.js";
export { guardStream } from "./guard-stream.js";
export { DELIVERY_LOST, LostDeliveries } from "./lost-deliveries.js";
export type { PluginTracker } from "./plugin-tracker.js";
export { validateRejection, validateSetback } from "./read-answers.js";
export { RecordGrowth } from "./record-growth.js";
