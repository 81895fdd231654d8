/** What deliveries pass through: operators, outlets, and the guards around components. */

export { checkComponent } from "../border/check-component.js";
export {
  assertObservable,
  assertSubscription,
  checkHandedIn,
  checkOutput,
  type OutputRules,
} from "../border/check-output.js";
export { GarbageCollection } from "../border/garbage-collection.js";
export { guardExporter } from "../border/guard-exporter.js";
export { guardStream } from "../border/guard-stream.js";
export { DELIVERY_LOST, LostDeliveries } from "../border/lost-deliveries.js";
export type { PluginTracker } from "../border/plugin-tracker.js";
export { validateRejection, validateSetback } from "../border/read-answers.js";
export { metadataFor } from "../calls/sent-metadata.js";
export { MAX_MERGED_BYTES, piecesOf } from "./batcher.js";
export { directOutlet } from "./direct-outlet.js";
export { type BatchResult, eachBatch } from "./each-batch.js";
export { holdingOf } from "./holding.js";
export type {
  Batching,
  EndingPipeline,
  EntrySettlement,
  Journal,
  JournalExchange,
  JournalFactory,
  JournalNotes,
  JournalSettings,
  Outlet,
  OutletFactory,
  OutletSettings,
} from "./outlet.js";
export { Semaphore } from "./semaphore.js";
export { type DeliveryHandlers, type DeliveryOutput, statefulProcessor } from "./stateful-processor.js";
export { withResource } from "./with-resource.js";
