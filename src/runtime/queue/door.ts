/** The durable queue in front of an exporter: store, schedule, sending, dead letters. */

export { startDeadLetterMaintenance } from "./dead-letters/dead-letter-maintenance.js";
export type { ExporterControl } from "./dead-letters/exporter-control.js";
export { ForwardMarks } from "./dead-letters/forward-marks.js";
export { DeadLetterForwarder } from "./dead-letters/forwarder.js";
export { MessageIndexes } from "./dead-letters/search/message-index.js";
export { ForwardsToFirst } from "./dead-letters/transfer/forwards-to-first.js";
export { directPath } from "./direct-path.js";
export type { NeededMetadata } from "./entry/client-metadata.js";
export { journalSettings, PipelineJournal } from "./intake/pipeline-journal.js";
export { RefusedJournal } from "./intake/refused-journal.js";
export { createAdmin } from "./operate/admin.js";
export { journalId } from "./operate/directory-name.js";
export { DiskPlace } from "./operate/disk-place.js";
export type { OfflineQueues } from "./operate/offline-queues.js";
export { Orphans } from "./operate/orphans.js";
export { PostgresPlace } from "./operate/postgres-place.js";
export { givenStores, type QueuePlace } from "./operate/queue-place.js";
export { WorkerQueues } from "./operate/worker-queues.js";
export { QueueOutlet } from "./queue-outlet.js";
export {
  createOperatorRecords,
  type OperatorRecords,
} from "./records/operator-records.js";
export type { ArchivePlace } from "./rehydrate/checked-request.js";
export { RehydrationJobs } from "./rehydrate/rehydration-jobs.js";
export { Suspects } from "./send/suspects.js";
