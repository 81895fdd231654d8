import { setMaxListeners } from "node:events";
import { type Exporter, type ExporterFactory, systemClock } from "#contract";
import { checkComponent, guardExporter } from "#contract/border";
import type { Batch } from "#otlp";
import type { Signal } from "#otlp/signals";
import { parseConfig, testContext } from "../component-inputs.js";
import { check, withTimeout } from "../eventually.js";
import type { Random } from "../fakes.js";
import { sampleBatch, sampleIds } from "../samples.js";
import type { CaseContext } from "./case.js";

/** How a backend handles a request: accepts it, refuses it temporarily or permanently, or never answers. */
export type BackendAnswer = "take" | "transient" | "permanent" | "hang";

/** The backend of an exporter, written by the exporter's author: a server on loopback, a file, a stream. */
export interface TestBackend {
  /** The exporter's config, as in the YAML. */
  readonly config: unknown;
  /** All batches accepted so far. Without this method the suite cannot check what arrives. */
  taken?(): readonly Batch[] | Promise<readonly Batch[]>;
  /** Sets how every request is answered from now on. Without this method the backend accepts everything. */
  answer?(how: () => BackendAnswer): void;
  close?(): Promise<void> | void;
}

/** One case: an exporter, its backend, and batches to send. */
export class ExporterHarness {
  readonly factory: ExporterFactory;
  readonly signal: Signal;
  readonly backend: TestBackend;
  readonly random: Random;
  readonly patienceMs: number;
  private numbers = 0;

  constructor(factory: ExporterFactory, signal: Signal, backend: TestBackend, { random, patienceMs }: CaseContext) {
    this.factory = factory;
    this.signal = signal;
    this.backend = backend;
    this.random = random;
    this.patienceMs = patienceMs;
  }

  make(): Exporter {
    const context = testContext("exporter", this.factory.type, systemClock, () => this.random.next());
    const made = this.factory.create(parseConfig(this.factory, this.backend.config), context);
    return guardExporter(this.factory.type, checkComponent("exporter", made), context);
  }

  async start(): Promise<Exporter> {
    const exporter = this.make();
    await this.withTimeout(Promise.resolve(exporter.start?.()), "start did not end");
    return exporter;
  }

  stop(exporter: Exporter): Promise<void> {
    return this.withTimeout(Promise.resolve(exporter.stop?.()), "stop did not end");
  }

  batch(): Batch {
    const ids = Array.from({ length: 1 + this.random.below(5) }, () => `r${this.numbers++}`);
    return sampleBatch(this.signal, this.random, { ids });
  }

  withTimeout<T>(work: Promise<T>, message: string): Promise<T> {
    return withTimeout(work, message, this.patienceMs);
  }

  /** Resolves with the error that the send fails with. */
  async failureOf(sending: Promise<unknown>, what: string): Promise<unknown> {
    const outcome = sending.then(
      () => ({ error: undefined }),
      (error: unknown) => ({ error: error ?? new Error("rejected with nothing") }),
    );
    const { error } = await this.withTimeout(outcome, `${what} did not end the send`);
    check(error !== undefined, `${what} was taken for success`);
    return error;
  }

  /** Fails unless exactly these records were accepted, each once. */
  async checkTaken(ids: readonly string[]): Promise<void> {
    if (this.backend.taken === undefined) return;
    const taken = (await this.backend.taken()).flatMap(sampleIds);
    checkOnce(taken, "arrived at the backend");
    const lost = ids.filter((id) => !taken.includes(id));
    check(lost.length === 0, () => `${lost.length} records were called sent and did not arrive, such as ${lost[0]}`);
    check(taken.length === ids.length, () => `${taken.length} records arrived and ${ids.length} were sent`);
  }
}

/** Fails when an id occurs more than once. */
export function checkOnce(ids: readonly string[], what: string): void {
  const seen = new Set<string>();
  for (const id of ids) {
    check(!seen.has(id), `record ${id} ${what} more than once`);
    seen.add(id);
  }
}

/** A signal that is never aborted. */
export function neverAborted(): AbortSignal {
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  return signal;
}
