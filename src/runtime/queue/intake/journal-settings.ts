import { type CompleteSettings, completeSettings, type ExporterSettings } from "#contract/schema";

/**
 * Returns the settings of a pipeline's journal. The defaults of all exporters apply to its location, durability, size
 * and dead letters. The rest is fixed: a full journal refuses clients, its entries never expire, and refused deliveries
 * are retried without limit.
 */
export function journalSettings(defaults: ExporterSettings): CompleteSettings {
  const { sending_queue, ...others } = defaults;
  const max_bytes = sending_queue?.max_bytes;
  const queue = { ...OWN.sending_queue, ...(max_bytes === undefined ? {} : { max_bytes }) };
  return completeSettings({ ...OWN, sending_queue: queue }, others);
}

const OWN: ExporterSettings = {
  sending_queue: { enabled: true, queue_size: 0, max_age: 0, on_full: "refuse", block_on_overflow: false },
  retry_on_failure: {
    backoff: "exponential",
    initial_interval: 500,
    multiplier: 2,
    max_interval: 30_000,
    max_retry_after: 60_000,
    jitter: "proportional",
    randomization_factor: 0.5,
  },
};
