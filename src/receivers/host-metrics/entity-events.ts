import { BatchIntake } from "#receiving";
import { type Batch, batchFromJson, type ReceiverContext } from "../../plugin.js";

/**
 * Reports for pipelines of logs that there is a host: one entity event at the start and one at every interval, with the
 * Collector's attributes. An interval of 0 means only the first one.
 */
export class HostEntityEvents {
  private readonly intervalMs: number;
  private readonly context: ReceiverContext;
  private intake: BatchIntake | undefined;
  private cancel = () => {};
  private isStopped = false;
  private current: Promise<void> = Promise.resolve();

  constructor(intervalMs: number, context: ReceiverContext) {
    this.intervalMs = intervalMs;
    this.context = context;
  }

  start(): void {
    if (this.context.intakes.logs === undefined) return;
    this.intake = new BatchIntake({ signal: "logs", transport: "host" }, this.context);
    this.report();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancel();
    await this.intake?.stop();
    await this.current;
  }

  private report(): void {
    const { clock } = this.context;
    const event = entityEvent(clock.now(), this.intervalMs);
    this.current = this.intake!.accept(event, { transport: "host" }).then(() => {
      if (this.intervalMs > 0 && !this.isStopped) this.cancel = clock.after(this.intervalMs, () => this.report());
    });
  }
}

function entityEvent(now: number, intervalMs: number): Batch {
  const attributes = [
    { key: "otel.entity.event.type", value: { stringValue: "entity_state" } },
    { key: "otel.entity.type", value: { stringValue: "host" } },
    ...(intervalMs > 0 ? [{ key: "otel.entity.interval", value: { intValue: String(Math.trunc(intervalMs)) } }] : []),
  ];
  const scope = { attributes: [{ key: "otel.entity.event_as_log", value: { boolValue: true } }] };
  const logRecords = [{ timeUnixNano: `${BigInt(now) * 1_000_000n}`, attributes }];
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ scope, logRecords }] }] }));
}
