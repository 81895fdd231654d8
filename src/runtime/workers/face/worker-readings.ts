import type { Clock } from "#contract";
import type { ExporterStatus, ReceiverStatus, Traffic } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import type { WorkerReading } from "./admin-methods.js";
import { addTraffic, mergeExporters, mergeReceivers } from "./merge-status.js";
import type { WorkerGroup } from "./worker-group.js";

/** A look at readings older than this causes new ones. */
const FRESH_MS = 250;
/** A worker that takes longer is late. */
const MAX_READING_MS = 2000;
/** How long those who look wait for a worker that is late already: probes of health often wait only one second. */
const MAX_LATE_MS = 50;

/**
 * The last answers of the workers about their exporters, receivers and traffic. Those who can wait call `refresh` first. All
 * others see what was known before, and by looking they cause it to be renewed; without looks, no worker is asked.
 */
export class WorkerReadings {
  private readonly group: WorkerGroup;
  private readonly clock: Clock;
  private readings = new Map<number, WorkerReading>();
  /** The questions that were not answered yet, by worker. */
  private readonly asked = new Map<number, Promise<void>>();
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
    const { group } = this;
    const linked = group.numbers.filter((worker) => group.isLinked(worker));
    await Promise.all(linked.map((worker) => this.ask(worker)));
    this.readings = new Map(linked.flatMap((worker) => this.known(worker)));
    this.readAt = this.clock.monotonic();
    for (const [worker, reading] of this.readings) this.keepTraffic(worker, reading);
    const known = mergeExporters([...this.readings.values()].map(({ exporters }) => exporters));
    // Without any worker nothing is sent, and what was known before must not look well.
    this.exporterList = this.readings.size > 0 ? known : this.exporterList.map((each) => ({ ...each, state: "DOWN" }));
  }

  private known(worker: number): readonly (readonly [number, WorkerReading])[] {
    const reading = this.readings.get(worker);
    return reading === undefined ? [] : [[worker, reading]];
  }

  /**
   * Resolves when the worker has told how it is, or after some time. A worker that was asked before and has not answered yet
   * probably hangs: it is not asked again, and no caller waits long for it. Its last reading counts until it ends.
   */
  private async ask(worker: number): Promise<void> {
    const before = this.asked.get(worker);
    const maxMs = before === undefined ? MAX_READING_MS : MAX_LATE_MS;
    const asked = before ?? this.question(worker);
    await waitAtMost(maxMs, asked, this.clock);
  }

  private question(worker: number): Promise<void> {
    const asked = this.group.askOnce<WorkerReading>(worker, "reading").then(
      (reading) => void this.readings.set(worker, reading),
      () => void this.readings.delete(worker),
    );
    const ended = asked.finally(() => this.asked.delete(worker));
    this.asked.set(worker, ended);
    return ended;
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
