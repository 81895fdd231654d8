import { type Receiver, type ReceiverContext, type ReceiverFactory, systemClock } from "#contract";
import { checkComponent } from "#contract/border";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { parseConfig, TestIntake, testContext } from "../component-inputs.js";
import { check, eventually, withTimeout } from "../eventually.js";
import type { Random } from "../fakes.js";
import { freePort } from "../free-port.js";
import { sampleBatch, sampleIds } from "../samples.js";
import type { CaseContext, ConformanceOptions } from "./case.js";

/** The answer that a client got: the data is safe, retry later, never send this again, or nothing answered. */
export type ClientAnswer = "accepted" | "retry" | "rejected" | "unreachable";

/** Options of the receiver suite. */
export interface ReceiverConformanceOptions extends ConformanceOptions {
  /** The receiver's config, as in the YAML, for listening at this port of 127.0.0.1. */
  readonly config: (port: number) => unknown;
  /**
   * Sends a batch as a client does, over its own connection, and returns the answer; a rejection means "unreachable".
   * Leave it out for a receiver that produces its data itself: it is then only started and stopped.
   */
  readonly send?: (batch: Batch, port: number) => Promise<ClientAnswer>;
  /**
   * Sends only a part of a request, and nothing more. Resolves when the part is written; `answer` resolves with the
   * receiver's answer.
   */
  readonly sendPart?: (batch: Batch, port: number) => Promise<{ readonly answer: Promise<ClientAnswer> }>;
  /** Signals to test; default: those of the receiver. */
  readonly signals?: readonly Signal[];
}

/** One case: a receiver, its intake, and its clients. */
export class ReceiverHarness {
  readonly intake = new TestIntake();
  readonly random: Random;
  readonly patienceMs: number;
  readonly options: ReceiverConformanceOptions;
  port = 0;
  private readonly factory: ReceiverFactory;
  private readonly signal: Signal;
  private readonly started: Receiver[] = [];
  private numbers = 0;

  constructor(factory: ReceiverFactory, signal: Signal, options: ReceiverConformanceOptions, context: CaseContext) {
    this.factory = factory;
    this.signal = signal;
    this.options = options;
    this.random = context.random;
    this.patienceMs = context.patienceMs;
  }

  /** Starts a receiver at a free port. Tries another port if someone else takes it first. */
  async start(): Promise<Receiver> {
    for (let tries = 0; ; tries++) {
      this.port = await freePort();
      try {
        return await this.startAgain();
      } catch (error) {
        if (tries === 4) throw error;
      }
    }
  }

  /** Starts another receiver at the same port. */
  async startAgain(): Promise<Receiver> {
    const receiver = this.make();
    await this.withTimeout(receiver.start(), "start did not end");
    this.started.push(receiver);
    return receiver;
  }

  make(): Receiver {
    const context: ReceiverContext = {
      ...testContext("receiver", this.factory.type, systemClock, () => this.random.next()),
      intakes: { [this.signal]: this.intake },
    };
    return checkComponent(
      "receiver",
      this.factory.create(parseConfig(this.factory, this.options.config(this.port)), context),
    );
  }

  async stop(receiver: Receiver): Promise<void> {
    await this.withTimeout(receiver.stop(), "stop did not end");
    await eventually(
      () => this.intake.reserved === 0,
      () => `${this.intake.reserved} reserved bytes were never released, or released twice`,
      this.patienceMs,
    );
  }

  /** Stops receivers that a failed case left running. */
  async cleanUp(): Promise<void> {
    for (const receiver of this.started) await withTimeout(receiver.stop(), "stop did not end", 500).catch(() => {});
  }

  batch(): Batch {
    const ids = Array.from({ length: 1 + this.random.below(5) }, () => `r${this.numbers++}`);
    return sampleBatch(this.signal, this.random, { ids });
  }

  /** The answer that the client gets. A client that fails has not reached the receiver. */
  send(batch: Batch): Promise<ClientAnswer> {
    const sent = this.options.send!(batch, this.port).catch((): ClientAnswer => "unreachable");
    const answer = this.withTimeout(sent, "the client got no answer");
    answer.catch(() => {}); // a case that has failed no longer waits for the answer
    return answer;
  }

  /** Waits until this many batches have been handed in. */
  async waitForBatches(count = 1): Promise<void> {
    await eventually(() => this.intake.batches.length >= count, "nothing was handed in", this.patienceMs);
  }

  /** Fails unless exactly these records were handed in, each once. */
  checkHandedIn(sent: readonly Batch[]): void {
    const ids = this.intake.batches.flatMap(sampleIds);
    const times = new Map<string, number>();
    for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1);
    for (const [id, count] of times) check(count === 1, `record ${id} was handed in ${count} times`);
    const lost = sent.flatMap(sampleIds).filter((id) => !times.has(id));
    check(
      lost.length === 0,
      () => `${lost.length} records were taken from clients and never handed in, such as ${lost[0]}`,
    );
  }

  withTimeout<T>(work: Promise<T>, message: string): Promise<T> {
    return withTimeout(work, message, this.patienceMs);
  }
}
