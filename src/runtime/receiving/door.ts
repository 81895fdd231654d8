/** Shared by receivers: intake, counters, scraping at intervals. */

export { BatchIntake, type BatchIntakeSettings, type MessageOutcome } from "./batch-intake.js";
export { CursorStore } from "./cursor-store.js";
export { EntryStream } from "./entry-stream.js";
export { duplicatesCounter, type ReceiverCounters, receiverCounters } from "./receiver-counters.js";
export { MetricOutput, PointCollector, type PointOrigin, type PointResource } from "./scraping/point-collector.js";
export {
  counter,
  gauge,
  type MetricTable,
  optIn,
  optional,
  type ScrapedMetric,
  upDown,
} from "./scraping/scraped-metric.js";
export { metricKeys, resourceAttributeKey, scrapingKeys } from "./scraping/scraping-keys.js";
export { type ScrapeMoment, type ScrapingConfig, ScrapingReceiver } from "./scraping/scraping-receiver.js";
export { leaderKey, whileLeader } from "./while-leader.js";
