import type { Batch, ReceiverFactory, Setback, Signal } from "../../src/plugin.js";
import { systemClock } from "../../src/runtime/contract/clock.js";
import type { Receiver, ReceiverContext } from "../../src/runtime/contract/component.js";
import type { Outcome } from "../../src/runtime/contract/debt.js";
import { type Logger, type Metrics, noMetrics, silentLogger } from "../../src/runtime/contract/observability.js";
import { TestIntake } from "../../src/testing.js";

/** An intake that also remembers what was handed in as a dead letter. */
export class SetbackIntake extends TestIntake {
  readonly setbacks: { readonly batch: Batch; readonly setback: Setback }[] = [];

  override async accept(batch: Batch, _origin?: unknown, setback?: Setback): Promise<Outcome> {
    if (setback !== undefined) this.setbacks.push({ batch, setback });
    return super.accept(batch);
  }
}

/** A receiver of one signal with this config, started. */
export async function startReceiver(
  factory: ReceiverFactory,
  config: object,
  intake: TestIntake,
  logger: Logger = silentLogger,
  signal: Signal = "logs",
  metrics: Metrics = noMetrics,
): Promise<Receiver> {
  const context: ReceiverContext = {
    id: factory.type,
    kind: "receiver",
    logger,
    metrics,
    clock: systemClock,
    random: () => 0.5,
    intakes: { [signal]: intake },
  };
  const receiver = factory.create(factory.schema.parse(config), context);
  await receiver.start();
  return receiver;
}
