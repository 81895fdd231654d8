/** Guards that check what components create, hand on, return, throw and lose. */

export { validateRejection, validateSetback } from "../delivery.js";
export {
  assertObservable,
  assertSubscription,
  checkComponent,
  checkHandedIn,
  checkOutput,
  guardStream,
  type OutputRules,
  RecordGrowth,
} from "./check.js";
export type { PluginTracker } from "./guard-exporter.js";
export { guardExporter } from "./guard-exporter.js";
export { DELIVERY_LOST, GarbageCollection, LostDeliveries } from "./lost-deliveries.js";
