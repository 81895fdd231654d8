/** Operators on deliveries, batching, and outlets as pipelines see them. */

export type { WorkerMode } from "../component.js";
export { metadataFor } from "../delivery.js";
export { type SharingWorker, shareOfAmount, shareOfLimit } from "../operations/workers.js";
export { workerMode } from "../plan.js";
export { MAX_MERGED_BYTES, piecesOf } from "./batcher.js";
export {
  type BatchResult,
  type DeliveryHandlers,
  type DeliveryOutput,
  eachBatch,
  holdingOf,
  statefulProcessor,
  withResource,
} from "./each-batch.js";
export type {
  Batching,
  ConfigNow,
  EndingPipeline,
  EntrySettlement,
  Journal,
  JournalExchange,
  JournalFactory,
  JournalNote,
  JournalNotes,
  JournalSettings,
  Outlet,
  OutletFactory,
  OutletSettings,
} from "./outlet.js";
