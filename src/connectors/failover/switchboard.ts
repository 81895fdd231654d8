import type { ConnectorContext, Counter } from "../../plugin.js";

/** Remembers which level is in use, and says when that changes: in the log and as metrics. */
export class ActiveLevel {
  /** Stops reporting. */
  readonly close: () => void;
  private readonly levels: readonly (readonly string[])[];
  private readonly logger: ConnectorContext["logger"];
  private readonly switches: Counter;
  private current = 0;

  constructor(names: readonly (readonly string[])[], { id, from, logger, metrics }: ConnectorContext) {
    this.levels = names;
    this.logger = logger;
    const attributes = { connector: id, otel_signal: from };
    this.switches = metrics.counter(
      "sluice_failover_switches",
      { description: "Times another level was taken into use." },
      attributes,
    );
    this.close = metrics.gauge(
      "sluice_failover_level",
      { description: "The level in use; 1 is the most wanted." },
      () => this.current + 1,
      attributes,
    );
  }

  switchTo(level: number, reason = ""): void {
    if (level === this.current) return;
    const fields = { from: this.current + 1, to: level + 1, pipelines: this.levels[level], ...(reason && { reason }) };
    if (level > this.current) this.logger.warn(fields, "switched to another level, as the one before is not well");
    else this.logger.info(fields, "switched back to a level that is wanted more");
    this.switches.add(1);
    this.current = level;
  }
}
