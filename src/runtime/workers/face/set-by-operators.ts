import type { RemoteCalls } from "../link/remote-calls.js";
import type { WorkerReading } from "./admin-methods.js";
import type { WorkerGroup } from "./worker-group.js";

/** The choices of operators for an exporter; undefined is the worker's own choice. */
interface ExporterSetting {
  readonly paused?: boolean;
  readonly breaker?: "open" | "closed" | "auto";
  /** Entries per second, in each worker. */
  readonly replayRate?: number;
}

/**
 * The choices of operators for exporters while the agent runs. They hold for all workers, so a worker that was restarted
 * gets them again.
 */
export class SetByOperators {
  private readonly group: WorkerGroup;
  private readonly settings = new Map<string, ExporterSetting>();

  constructor(group: WorkerGroup) {
    this.group = group;
  }

  /** Resolves when all workers have made the change. Rejects before any change if one of them is not there. */
  async change(exporter: string, change: ExporterSetting): Promise<void> {
    await this.group.requireAll();
    for (const { name, args } of this.callsFor(exporter, change)) await this.group.change(() => ({ name, args }));
    this.settings.set(exporter, { ...this.settings.get(exporter), ...change });
  }

  /** The rate holds over all workers that have the exporter, so each gets its share. */
  async setReplayRate(exporter: string, rate: number): Promise<void> {
    const { answers } = await this.group.ask<WorkerReading>("reading");
    const having = answers.filter(({ value }) => value.exporters.some(({ id }) => id === exporter)).length;
    await this.change(exporter, { replayRate: rate / Math.max(1, having) });
  }

  /** Tells a worker that was restarted. It may not have the exporter: another one may run it, or none any more. */
  async restore(calls: RemoteCalls): Promise<void> {
    for (const [exporter, setting] of this.settings)
      for (const { name, args } of this.callsFor(exporter, setting))
        await calls.call(name, ...args).catch((error: { code?: unknown }) => {
          if (error.code !== "not_found") throw error;
        });
  }

  private callsFor(exporter: string, { paused, breaker, replayRate }: ExporterSetting) {
    const calls: { readonly name: string; readonly args: readonly unknown[] }[] = [];
    if (paused !== undefined) calls.push({ name: paused ? "pause" : "resume", args: [exporter] });
    if (breaker !== undefined) calls.push({ name: "forceBreaker", args: [exporter, breaker] });
    if (replayRate !== undefined) calls.push({ name: "setReplayRate", args: [exporter, replayRate] });
    return calls;
  }
}
