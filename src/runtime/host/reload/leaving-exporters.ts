import type { Logger } from "#contract";
import { type Former, whenEnded } from "#pipeline";
import type { ComponentRunner, StartedComponent } from "../component-runner.js";

/** An exporter that is not in the config any more, and what stops with it. */
interface Leaving {
  readonly id: string;
  /** Where streams ended in it. Nothing leads there any more. */
  readonly end: Former & { close(): void };
  /** Resolves when its queue is empty. */
  readonly emptied: Promise<void>;
  /** In the order in which they stop: the outlet, the exporter, and authenticators that it uses. */
  readonly components: readonly StartedComponent[];
}

/** How long calls under way may take when an exporter must stop although its queue is not empty. */
const MAX_END_MS = 5000;

/** Exporters that a reload has removed and that run on until their queues are empty. */
export class LeavingExporters {
  private readonly runner: ComponentRunner;
  private readonly logger: Logger;
  private isStopping = false;
  private readonly all = new Map<string, { readonly interrupt: () => void; readonly ended: Promise<void> }>();

  constructor(runner: ComponentRunner, logger: Logger) {
    this.runner = runner;
    this.logger = logger;
  }

  add(leaving: Leaving): void {
    const { id } = leaving;
    let interrupt = () => {};
    const interrupted = new Promise<void>((resolve) => {
      interrupt = resolve;
    });
    if (this.isStopping) interrupt();
    const ended = this.run(leaving, interrupted).finally(() => this.all.delete(id));
    this.all.set(id, { interrupt, ended });
  }

  has(id: string): boolean {
    return this.all.has(id);
  }

  /** Stops an exporter now. What is left in its queue stays there. */
  async stop(id: string): Promise<void> {
    const found = this.all.get(id);
    found?.interrupt();
    await found?.ended;
  }

  /** From now on no exporter runs on. */
  async stopAll(): Promise<void> {
    this.isStopping = true;
    await Promise.all([...this.all.keys()].map((id) => this.stop(id)));
  }

  private async run({ id, end, emptied, components }: Leaving, interrupted: Promise<void>): Promise<void> {
    this.logger.info({ exporter: id }, "the removed exporter keeps running until its queue is empty");
    const isEmpty = await Promise.race([emptied.then(() => true), interrupted.then(() => false)]);
    end.close();
    await this.runner.waitFor(whenEnded([end]), MAX_END_MS, () => end.abort());
    for (const component of components) await this.runner.stopInTime([component], MAX_END_MS);
    if (isEmpty) this.logger.info({ exporter: id }, "the queue of the removed exporter is empty and closed");
  }
}
