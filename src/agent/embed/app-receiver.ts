import type { Intake, Receiver, ReceiverContext, ReceiverFactory } from "#contract";
import type { Signal } from "#otlp/signals";

/** Id of the receiver that a program emits into. */
export const APP = "app";

/** The receiver `app` of one embedded Sluice. It gets its intakes when the config starts. */
export class AppReceiver {
  intakes: Readonly<Partial<Record<Signal, Intake>>> = {};
  /** Resolves when everything handed in is settled. */
  settled: () => Promise<void> = async () => {};

  /** Returns the receiver type `app` bound to this object. */
  bindFactory(type: ReceiverFactory): ReceiverFactory {
    return { ...type, create: (_config, context) => this.connect(context) };
  }

  private connect({ id, intakes }: ReceiverContext): Receiver {
    if (id !== APP)
      throw new Error(
        `there can be only one receiver ${APP}, without a name; to separate its data, use the connector routing`,
      );
    this.intakes = intakes;
    return { start: async () => {}, stop: () => this.settled() };
  }
}
