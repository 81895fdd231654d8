/** Guards that check what components create, hand on, return, throw and lose. */

export { validateRejection, validateSetback } from "../delivery.js";
export {
  assertObservable,
  assertSubscription,
  checkHandedIn,
  checkOutput,
  guardStream,
  type OutputRules,
  RecordGrowth,
} from "./check.js";
export { checkComponent } from "./check-component.js";
export { GarbageCollection } from "./garbage-collection.js";
export { guardExporter } from "./guard-exporter.js";
export { DELIVERY_LOST, LostDeliveries } from "./lost-deliveries.js";
export type { PluginTracker } from "./plugin-tracker.js";
