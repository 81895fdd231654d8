import { join } from "node:path";

export const ALERTS = join(import.meta.dirname, "../../../packaging/prometheus/alerts.yaml");

/** A file of `promtool test rules`: each alert that H3 names, just below its figure and just above. */
export const ALERT_FIGURES = {
  rule_files: [ALERTS],
  evaluation_interval: "1m",
  tests: [
    {
      interval: "1m",
      input_series: [
        { series: 'sluice_breaker_state{exporter="open"}', values: "2x60" },
        { series: 'sluice_breaker_state{exporter="half open"}', values: "1x60" },
        { series: 'sluice_dead_letters_entries{exporter="100"}', values: "100x60" },
        { series: 'sluice_dead_letters_entries{exporter="101"}', values: "101x60" },
        { series: 'sluice_dead_letters_entries{exporter="half an hour"}', values: "1x60" },
        { series: 'sluice_dead_letters_oldest_age{exporter="half an hour"}', values: "1800x60" },
        { series: 'sluice_dead_letters_entries{exporter="older"}', values: "1x60" },
        { series: 'sluice_dead_letters_oldest_age{exporter="older"}', values: "1801x60" },
        { series: 'sluice_dead_letters_total{exporter="half", error_class="HTTP 400"}', values: "0 0 50x60" },
        { series: 'sluice_dead_letters_total{exporter="half", error_class="HTTP 413"}', values: "0 0 50x60" },
        { series: 'sluice_dead_letters_total{exporter="more", error_class="HTTP 400"}', values: "0 0 51x60" },
        { series: 'sluice_dead_letters_total{exporter="more", error_class="HTTP 413"}', values: "0 0 49x60" },
        { series: 'sluice_exporter_retries_total{exporter="calm"}', values: "0+60x60" },
        { series: 'sluice_exporter_retries_total{exporter="retrying"}', values: "0+66x60" },
        { series: 'sluice_receiver_up{exporter="receiver"}', values: "0x60" },
      ],
      promql_expr_test: [
        {
          expr: 'count(ALERTS{alertstate="firing"}) by (alertname, exporter)',
          eval_time: "15m",
          exp_samples: [
            ["SluiceBreakerOpen", "open"],
            ["SluiceDeadLetters", "101"],
            ["SluiceDeadLettersOld", "older"],
            ["SluiceOneErrorClass", "more"],
            ["SluiceRetryRateHigh", "retrying"],
            ["SluiceReceiverDown", "receiver"],
          ].map(([alertname, exporter]) => ({
            labels: `{alertname="${alertname}", exporter="${exporter}"}`,
            value: 1,
          })),
        },
      ],
    },
  ],
};
