import {
  type ArchivedObject,
  type ArchivedObjects,
  ArchiveError,
  type FetchedObject,
  type ObjectFault,
  type ObjectName,
  OrderedWork,
  parseObjectName,
  readObject,
  type WalkPosition,
} from "#archive";
import type { Clock, Logger } from "#contract";
import type { RecordCondition } from "#contract/operations";
import { REHYDRATED_ATTRIBUTE, REHYDRATED_FROM_ATTRIBUTE, type RehydrationProblem } from "#contract/rehydration";
import { type Batch, ResourceStamp } from "#otlp";
import type { PrepareReplayed } from "../dead-letters/exporter-control.js";
import { waitUntil } from "../dead-letters/replay.js";
import type { ArchiveHandIn, HandedIn } from "./archive-hand-in.js";

/** How far a run has come. Everything before the position has been taken by the exporter. */
export interface RunProgress {
  readonly position: RunPosition;
  readonly objects: number;
  readonly bytes: number;
  readonly read: number;
  readonly matched: number;
  readonly sent: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly problems: readonly RehydrationProblem[];
}

/** `inside` is the object after the position, and how many of its pieces are done. */
export interface RunPosition extends WalkPosition {
  readonly inside?: {
    readonly key: string;
    readonly version: string;
    readonly pieces: number;
    readonly sent: number;
    readonly fault?: PieceFault | undefined;
  };
}

interface PieceFault {
  readonly fault: ObjectFault;
  readonly message: string;
}

export const NO_PROGRESS: RunProgress = {
  position: { list: 0 },
  objects: 0,
  bytes: 0,
  read: 0,
  matched: 0,
  sent: 0,
  faults: {},
  problems: [],
};

interface RehydrationRunServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly objects: ArchivedObjects;
  readonly handIn: ArchiveHandIn;
  readonly prepare: PrepareReplayed | undefined;
  readonly condition: RecordCondition | undefined;
  /** Records per second. */
  readonly rate: number | undefined;
  /** Called when the progress has changed. If it returns a promise, the run waits for it. */
  readonly onProgress: (progress: RunProgress) => Promise<void> | undefined;
}

/** Pieces that are handed in at the same time, so that reading continues while a queue writes. */
const MAX_PENDING = 4;
/** How long a run that ends waits for an exporter that is sending. */
const MAX_END_MS = 10_000;
/** More problems are only counted and logged. */
const MAX_PROBLEMS = 100;

/**
 * Reads archived objects one after the other and hands their records to an exporter. The progress moves on only when
 * the exporter has taken everything before it, in order, so a later run can begin there. An object that cannot be read
 * is reported and left out; the run continues.
 */
export class RehydrationRun {
  progress: RunProgress;
  private readonly id: string;
  private readonly services: RehydrationRunServices;
  private readonly abort: AbortSignal;
  private readonly work = new OrderedWork(MAX_PENDING);
  private nextAt = 0;
  private writing: Promise<void> | undefined;
  private isOver = false;

  constructor(id: string, progress: RunProgress, services: RehydrationRunServices, abort: AbortSignal) {
    this.id = id;
    this.progress = progress;
    this.services = services;
    this.abort = abort;
  }

  async run(): Promise<void> {
    try {
      const isWanted = (object: ArchivedObject) => "name" in this.contentOf(object);
      for await (const fetched of this.services.objects.fetched(this.progress.position, isWanted)) {
        this.abort.throwIfAborted();
        await this.readOne(fetched);
      }
      await this.work.end();
    } finally {
      await this.endAttempts();
      this.isOver = true;
      await this.writing;
    }
  }

  /** Batches that the exporter takes meanwhile count, so that the next run does not send them again. */
  private async endAttempts(): Promise<void> {
    let cancel = () => {};
    const waited = new Promise<void>((resolve) => {
      cancel = this.services.clock.after(MAX_END_MS, resolve);
    });
    await Promise.race([this.work.settled(), waited]);
    cancel();
  }

  private async readOne(fetched: FetchedObject): Promise<void> {
    const { object, position } = fetched;
    const fault = await this.readObject(fetched);
    await this.add(Promise.resolve(), () => {
      const { inside } = this.progress.position;
      const own = inside?.key === object.key ? inside : undefined;
      this.move({ position, objects: this.progress.objects + 1, bytes: this.progress.bytes + object.size });
      const first = own?.fault ?? fault;
      if (first !== undefined) this.report(object.key, first, own?.sent ?? 0);
    });
  }

  /** Returns what is wrong with the object as a whole. */
  private async readObject(fetched: FetchedObject): Promise<PieceFault | undefined> {
    const content = this.contentOf(fetched.object);
    return "name" in content ? this.readPieces(content.name, fetched) : content.fault;
  }

  /** The name of an object to read, or the reason why nothing is read. There is no fault if the condition is about other signals. */
  private contentOf({ key, size }: ArchivedObject): { name: ObjectName } | { fault: PieceFault | undefined } {
    const left = (fault: ObjectFault, message: string) => ({ fault: { fault, message } });
    const name = parseObjectName(key);
    if (name === undefined)
      return left("not_ours", "its name is not that of an archived object: <signal>_<id>.binpb or .json");
    if (this.services.handIn.pipelineOf(name.signal) === undefined)
      return left("no_pipeline", `the exporter is in no pipeline for ${name.signal}`);
    if (size === 0) return left("empty", "it has no bytes");
    const { condition } = this.services;
    if (condition?.signals !== undefined && !condition.signals.includes(name.signal)) return { fault: undefined };
    return { name };
  }

  private async readPieces(name: ObjectName, { object, content }: FetchedObject): Promise<PieceFault | undefined> {
    const { key, version, modifiedAt } = object;
    const { objects } = this.services;
    const { inside } = this.progress.position;
    let done = inside?.key === key && inside.version === version ? inside.pieces : 0;
    const stamp = stampOf(`${objects.source.place}/${key}`);
    for (let tries = 0; ; ) {
      let piece = 0;
      try {
        for await (const batch of readObject(name, await content(), modifiedAt)) {
          if (piece++ < done) continue;
          await this.send(batch, stamp, { key, version, piece: done });
          done++;
          tries = 0;
        }
        return piece === 0 ? { fault: "empty", message: `it has no ${name.signal}` } : undefined;
      } catch (error) {
        if (error instanceof ArchiveError && error.fault !== undefined && !error.isTransient)
          return { fault: error.fault, message: error.message };
        await objects.waitAfter(error, tries++);
      }
    }
  }

  private async send(batch: Batch, stamp: ResourceStamp, at: PieceAt): Promise<void> {
    await this.waitForRate();
    const chosen = this.choose(batch);
    const work: Promise<HandedIn | PieceFault> =
      "fault" in chosen ? Promise.resolve(chosen) : this.hand(chosen, stamp, at);
    const matched = "fault" in chosen ? 0 : chosen.count;
    this.addToRate(matched);
    await this.add(work, (result) => {
      const { position, read, matched: before, sent } = this.progress;
      const { inside } = position;
      const own = inside?.key === at.key ? inside : undefined;
      const sentNow = "fault" in result ? 0 : result.sent;
      const fault = own?.fault ?? faultOf(result);
      this.move({
        position: {
          ...position,
          inside: {
            key: at.key,
            version: at.version,
            pieces: at.piece + 1,
            sent: (own?.sent ?? 0) + sentNow,
            ...(fault !== undefined && { fault }),
          },
        },
        read: read + batch.count,
        matched: before + matched,
        sent: sent + sentNow,
      });
    });
  }

  private choose(batch: Batch): Batch | PieceFault {
    const { condition } = this.services;
    if (condition === undefined) return batch;
    try {
      return condition.matching(batch);
    } catch (error) {
      const message = `the condition cannot be decided for ${batch.count} records: ${(error as Error).message}`;
      return { fault: "condition_failed", message };
    }
  }

  /** Applies the steps that replays pass too, such as pii, so that the backend gets nothing unmasked. */
  private async hand(batch: Batch, stamp: ResourceStamp, { key, version, piece }: PieceAt): Promise<HandedIn> {
    if (batch.count === 0) return { sent: 0 };
    const { prepare, handIn } = this.services;
    const pipeline = handIn.pipelineOf(batch.signal) ?? "";
    const prepared = prepare?.({ pipeline, signal: batch.signal }, batch) ?? { batch };
    if (prepared.batch === undefined) return { sent: 0, problem: prepared.error.message };
    const marked = stamp.apply(prepared.batch);
    return handIn.hand(marked, JSON.stringify([this.id, key, version, piece]), this.abort);
  }

  private async waitForRate(): Promise<void> {
    if (this.services.rate === undefined) return;
    await waitUntil(this.nextAt, this.abort, this.services.clock);
    this.abort.throwIfAborted();
  }

  private addToRate(records: number): void {
    const { rate, clock } = this.services;
    if (rate !== undefined) this.nextAt = Math.max(this.nextAt, clock.monotonic()) + (records / rate) * 1000;
  }

  private async add<T>(work: Promise<T>, onDone: (result: T) => void): Promise<void> {
    await this.work.add(work, onDone);
    await this.writing;
  }

  private move(change: Partial<RunProgress>): void {
    if (this.isOver) return;
    this.progress = { ...this.progress, ...change };
    this.writing = this.services.onProgress(this.progress) ?? this.writing;
  }

  private report(key: string, { fault, message }: PieceFault, sent: number): void {
    const { faults, problems } = this.progress;
    const object = `${this.services.objects.source.place}/${key}`;
    this.services.logger.warn(
      { rehydration: this.id, object, fault, reason: message, sent },
      "an archived object was left out, or a part of it",
    );
    this.move({
      faults: { ...faults, [fault]: (faults[fault] ?? 0) + 1 },
      ...(problems.length < MAX_PROBLEMS && { problems: [...problems, { object, fault, message, sent }] }),
    });
  }
}

interface PieceAt {
  readonly key: string;
  readonly version: string;
  readonly piece: number;
}

function faultOf(result: HandedIn | PieceFault): PieceFault | undefined {
  if ("fault" in result) return result;
  return result.problem === undefined ? undefined : { fault: "refused", message: result.problem };
}

function stampOf(from: string): ResourceStamp {
  return new ResourceStamp(
    new Map<string, string | boolean>([
      [REHYDRATED_ATTRIBUTE, true],
      [REHYDRATED_FROM_ATTRIBUTE, from],
    ]),
    "always",
  );
}
