/** The metrics that H2 names: each is above 0 once what it counts has happened. */
export const COUNTED = {
  sent: "otelcol_exporter_sent_log_records",
  failed: "otelcol_exporter_send_failed_log_records",
  "retries by attempt": 'sluice_exporter_retries_total{attempt="1"}',
  exhausted: "sluice_exporter_retries_exhausted_total",
  permanent: "sluice_exporter_permanent_failures_total",
  "breaker state": "sluice_breaker_state",
  "breaker opened": "sluice_breaker_opened_total",
  "breaker closed": "sluice_breaker_closed_total",
  "breaker rejected": "sluice_breaker_rejected_total",
  "dead letters by reason": 'sluice_dead_letters_total{reason="retry_exhausted"}',
  "dead letters by class": 'sluice_dead_letters_total{error_class="HTTP 400"}',
  size: "sluice_exporter_queue_bytes",
  "size of dead letters": "sluice_dead_letters_bytes",
  "oldest age": "sluice_exporter_queue_oldest_age",
  "attempts before DLQ": "sluice_dead_letter_attempts_count",
  "filtered out": "sluice_dead_letters_filtered_out_total",
  replayed: "sluice_dead_letters_replayed_total",
  "replay failed": "sluice_dead_letter_replays_failed_total",
  "limiter allowed": "sluice_retry_limiter_allowed_total",
  "limiter limited": "sluice_retry_limiter_limited_total",
  "health checks": "sluice_exporter_health_checks_total",
} as const;

/** The sum of a metric's series on a page, those with this label. */
export function valueOn(page: string, metric: string): number {
  const [name, label = ""] = metric.split(/[{}]/);
  const lines = page.split("\n").filter((line) => line.startsWith(`${name}{`) && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
