import type { ResolvedConfig } from "#config/resolve";
import { type Clock, type Delivery, type Intake, type Logger, noMetrics } from "#contract";
import { errorMessage } from "#contract/errors";
import type { RehearsalErrorKind } from "#contract/rehearsal";
import { Agent } from "#host";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { maskText } from "#text";
import { masks } from "../mask-batch.js";
import { cutOffConfig, seededRandom } from "./cut-off-config.js";

/** A batch that an exporter would have got. */
export interface RehearsalOutput {
  readonly exporter: string;
  readonly batch: Batch;
}

interface RehearsalError {
  readonly kind: RehearsalErrorKind;
  /** The exporter, receiver or component, if it is known. */
  readonly where: string;
  /** Masked. */
  readonly message: string;
  count: number;
}

/** How many different errors are kept. Messages may contain anything, so there may be one for each record. */
const MAX_ERRORS = 100;

/** One config that runs on a sample, with nothing of it reaching outside. */
export class RehearsalRun {
  readonly outputs: RehearsalOutput[] = [];
  /** CPU time per record in each part of the sample, in microseconds. The caller measures it. */
  readonly costs: number[] = [];
  /** Batches that were handed in and are not settled yet. */
  unsettled = 0;
  private readonly errorsByText = new Map<string, RehearsalError>();
  private readonly intakes = new Map<string, Readonly<Partial<Record<Signal, Intake>>>>();
  private readonly config: ResolvedConfig;
  private readonly agent: Agent;

  constructor(config: ResolvedConfig, clock: Clock) {
    this.config = config;
    const cutOff = cutOffConfig(config, this.intakes, (delivery, exporter) => this.take(delivery, exporter));
    const options = { logger: this.logger(""), metrics: noMetrics, clock, random: seededRandom("agent") };
    this.agent = new Agent(cutOff, options, masks);
  }

  get errors(): readonly RehearsalError[] {
    return [...this.errorsByText.values()];
  }

  /** Rejects with an `AgentStartError` if a processor or connector cannot be created. */
  start(): Promise<void> {
    return this.agent.start();
  }

  feed(receiver: string, batch: Batch): void {
    const intake = this.intakeFor(receiver, batch.signal);
    if (intake === undefined) {
      const message = `no pipeline takes ${batch.signal} from the receiver "${receiver}"`;
      return this.add("not_received", receiver, message, batch.count);
    }
    this.unsettled += 1;
    void intake.accept(batch).then((outcome) => {
      this.unsettled -= 1;
      if (!outcome.ok) this.add("refused", outcome.refusal.failedIn ?? "", outcome.refusal.message, batch.count);
    });
  }

  /** Ends the input. Processors that hold records decide about them now, as when an agent stops. */
  finish(timeoutMs: number): Promise<void> {
    return this.agent.stop(timeoutMs);
  }

  /** A receiver may have another name in this config: then the only one of its type that takes the signal is used. */
  private intakeFor(receiver: string, signal: Signal): Intake | undefined {
    if (this.intakes.has(receiver)) return this.intakes.get(receiver)?.[signal];
    const typeOf = (id: string) => id.split("/", 1)[0];
    const [only, ...others] = [...this.config.receivers.keys()].filter(
      (id) => typeOf(id) === typeOf(receiver) && this.intakes.get(id)?.[signal] !== undefined,
    );
    return only !== undefined && others.length === 0 ? this.intakes.get(only)?.[signal] : undefined;
  }

  private take(delivery: Delivery, exporter: string): void {
    const { batch, setback } = delivery;
    if (setback === undefined) this.outputs.push({ exporter, batch });
    else if (setback.onlyIfAlwaysSaved !== true) {
      this.add("dead_letter", exporter, `${setback.code}: ${setback.message}`, batch.count);
    }
    delivery.accept();
  }

  private add(kind: RehearsalErrorKind, where: string, text: string, count: number): void {
    const message = maskText(text);
    const key = `${kind} ${where} ${message}`;
    const known = this.errorsByText.get(key);
    if (known !== undefined) known.count += count;
    else if (this.errorsByText.size < MAX_ERRORS) this.errorsByText.set(key, { kind, where, message, count });
    else this.add(kind, "", "further errors", count);
  }

  /** Warnings and errors of components are counted, because a component may continue after an error. */
  private logger(component: string): Logger {
    const note = (fields: object, message: string) => {
      const { err } = fields as { readonly err?: unknown };
      this.add("log", component, err === undefined ? message : `${message}: ${errorMessage(err)}`, 1);
    };
    return {
      debug() {},
      info() {},
      warn: note,
      error: note,
      child: (fields) => this.logger(String(fields["component"] ?? component)),
    };
  }
}
