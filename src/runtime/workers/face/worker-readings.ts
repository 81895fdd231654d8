import type { Clock } from "#contract";
import type { ExporterStatus, ReceiverStatus, Traffic } from "#contract/operations";
import type { WorkerReading } from "./admin-methods.js";
import { addTraffic, mergeExporters, mergeReceivers } from "./merge-status.js";
import type { WorkerGroup } from "./worker-group.js";

/** Whoever looks at readings older than this causes new ones. */
const FRESH_MS = 250;

/**
 * The last answers of the workers about their exporters, receivers and traffic. Those who can wait call `refresh` first. All
 * others see what was known before, and by looking they cause it to be renewed; while nobody looks, nobody asks.
 */
export class WorkerReadings {
  private readonly group: WorkerGroup;
  private readonly clock: Clock;
  private readings = new Map<number, WorkerReading>();
  /** The numbers of records of workers that have ended. They stay in the sum, so that it never falls. */
  private readonly ended: Traffic[] = [];
  private lastTraffic = new Map<number, WorkerReading>();
  private exporterList: readonly ExporterStatus[] = [];
  private current: Promise<void> | undefined;
  private following: Promise<void> | undefined;
  private readAt = Number.NEGATIVE_INFINITY;

  constructor(group: WorkerGroup, clock: Clock) {
    this.group = group;
    this.clock = clock;
  }

  /** Resolves when the readings are at least as new as this call. Never rejects. */
  refresh(): Promise<void> {
    if (this.current === undefined) return this.begin();
    this.following ??= this.current.then(() => {
      this.following = undefined;
      return this.begin();
    });
    return this.following;
  }

  exporters(): readonly ExporterStatus[] {
    this.look();
    return this.exporterList;
  }

  receivers(): readonly ReceiverStatus[] {
    this.look();
    return mergeReceivers([...this.readings.values()].map(({ receivers }) => receivers));
  }

  traffic(): Traffic {
    this.look();
    return addTraffic([...this.ended, ...[...this.lastTraffic.values()].flatMap(({ traffic }) => traffic ?? [])]);
  }

  private look(): void {
    if (this.current === undefined && this.clock.monotonic() - this.readAt > FRESH_MS) void this.refresh();
  }

  private begin(): Promise<void> {
    this.current = this.read().finally(() => {
      this.current = undefined;
    });
    return this.current;
  }

  private async read(): Promise<void> {
    const question = (worker: number) => this.group.askSoon<WorkerReading>(worker, "reading");
    const { answers } = await this.group.askEach(question).catch(() => ({ answers: [] }));
    this.readings = new Map(answers.map(({ worker, value }) => [worker, value]));
    this.readAt = this.clock.monotonic();
    for (const [worker, reading] of this.readings) this.keepTraffic(worker, reading);
    const known = mergeExporters([...this.readings.values()].map(({ exporters }) => exporters));
    // Without any worker nothing is sent, and what was known before must not look well.
    this.exporterList = answers.length > 0 ? known : this.exporterList.map((each) => ({ ...each, state: "DOWN" }));
  }

  private keepTraffic(worker: number, reading: WorkerReading): void {
    if (reading.traffic === undefined) return;
    const before = this.lastTraffic.get(worker);
    this.lastTraffic.set(worker, reading);
    if (before?.traffic === undefined || before.startedAt === reading.startedAt) return;
    this.ended.push(before.traffic);
    if (this.ended.length > 1) this.ended.splice(0, this.ended.length, addTraffic(this.ended));
  }
}
