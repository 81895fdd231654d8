import { Subject, type Subscription } from "rxjs";
import { Debt, Delivery, type Outcome, type Processor, type ProcessorContext, type ProcessorFactory } from "#contract";
import { checkComponent, guardStream } from "#contract/border";
import { type Batch, isBatch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { parseConfig, testContext } from "../component-inputs.js";
import { check, eventually } from "../eventually.js";
import { FakeClock, flushPromises, type Random } from "../fakes.js";
import { sampleIds } from "../samples.js";

/** A batch that was handed to a processor, and its outcome. */
export interface FedBatch {
  readonly batch: Batch;
  readonly ids: readonly string[];
  /** A copy of the bytes before processing. */
  readonly before: Buffer;
  /** Undefined until settled. */
  outcome: Outcome | undefined;
}

/** A processor between a source that the test feeds and a list of its output, on a fake clock. */
export class ProcessorHarness {
  readonly clock = new FakeClock();
  readonly source = new Subject<Delivery>();
  readonly fed: FedBatch[] = [];
  readonly out: Delivery[] = [];
  isComplete = false;
  private error: unknown;
  private readonly subscription: Subscription;

  /** `wrap` puts another operator around the processor. */
  constructor(
    { factory, config, signal, random }: ProcessorHarnessSettings,
    wrap: (processor: () => Processor, clock: FakeClock) => Processor = (make) => make(),
  ) {
    const context: ProcessorContext = {
      ...testContext("processor", factory.type, this.clock, () => random.next()),
      signal,
      pipeline: signal,
    };
    const make = () => checkComponent("processor", factory.create(parseConfig(factory, config), context));
    const processor = wrap(make, this.clock);
    this.subscription = processor(guardStream(this.source, (error) => this.fail(error))).subscribe({
      next: (delivery) => this.take(delivery, signal),
      error: (error) => this.fail(error),
      complete: () => {
        this.isComplete = true;
      },
    });
  }

  private take(delivery: Delivery, signal: Signal): void {
    if (isBatch(delivery?.batch, signal) && typeof delivery.accept === "function") this.out.push(delivery);
    else this.fail(new TypeError(`it handed on a value that is not a delivery with a batch of ${signal}`));
  }

  private fail(error: unknown): void {
    this.error ??= error ?? new Error("nothing was said");
  }

  feed(batch: Batch): FedBatch {
    const fed: FedBatch = { batch, ids: sampleIds(batch), before: Buffer.from(batch.bytes), outcome: undefined };
    this.fed.push(fed);
    const debt = new Debt((outcome) => {
      fed.outcome = outcome;
    });
    this.source.next(new Delivery(batch, { receiver: "test", transport: "test" }, debt));
    this.checkAlive();
    return fed;
  }

  /** Completes the input and waits for the output to complete. The clock does not advance. */
  async end(patienceMs: number): Promise<void> {
    this.source.complete();
    const message = "its input ended and its output did not: on complete, flush what is held, and complete";
    await eventually(() => this.isComplete || this.error !== undefined, message, patienceMs);
    this.checkAlive();
  }

  stop(): void {
    this.subscription.unsubscribe();
  }

  /** Accepts all unsettled output. */
  acceptAll(): void {
    for (const delivery of this.out) delivery.accept();
  }

  /** Fails when a delivery has not been settled. */
  checkSettled(): void {
    const open = this.fed.filter(({ outcome }) => outcome === undefined);
    check(
      open.length === 0,
      () =>
        `${open.length} of ${this.fed.length} deliveries were never settled: hand on, split, merge, accept or refuse each`,
    );
  }

  /** Fails when the output stream ended before its input. */
  checkAlive(): void {
    check(this.error === undefined, () => `its stream ended with an error, and all it held with it: ${this.error}`);
    check(!this.isComplete || this.source.isStopped, "its stream completed by itself while its input went on");
  }

  flushPromises(): Promise<void> {
    return flushPromises();
  }
}

interface ProcessorHarnessSettings {
  readonly factory: ProcessorFactory;
  readonly config: unknown;
  readonly signal: Signal;
  readonly random: Random;
}
