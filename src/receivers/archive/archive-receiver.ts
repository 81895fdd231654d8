import { createHash } from "node:crypto";
import {
  type ArchivedObject,
  ArchivedObjects,
  ArchiveError,
  type ArchiveSource,
  type FetchedObject,
  type ObjectName,
  OrderedWork,
  parseObjectName,
  readObject,
  type WalkPosition,
} from "#archive";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { REHYDRATED_ATTRIBUTE, REHYDRATED_FROM_ATTRIBUTE } from "#contract/rehydration";
import { type Batch, ResourceStamp } from "#otlp";
import { BatchIntake, CursorStore, type MessageOutcome } from "#receiving";
import { placeName } from "#text";
import { limitedLog, type Receiver, SIGNALS, type Signal } from "../../plugin.js";

interface ArchiveReceiverSettings {
  /** Milliseconds since the epoch. */
  readonly starttime: number;
  readonly endtime: number;
  readonly base: string;
  readonly partitions: string;
  /** The time zone of the partitions; "" is that of the machine. */
  readonly timezone: string;
  readonly file_prefix: string;
  readonly mark_rehydrated: boolean;
  readonly offsets_directory: string;
}

/** The position up to which every exporter has the records. */
interface ReceiverPosition extends WalkPosition {
  readonly inside?: { readonly key: string; readonly version: string; readonly pieces: number };
  readonly isDone?: boolean;
}

/** Batches that are handed in at the same time. */
const MAX_PENDING = 4;

/**
 * Reads the objects of a time range once, from the oldest to the newest. The position is kept on disk and advances only
 * once every exporter in the pipelines has the records. An object that cannot be read is counted, named in the log and
 * left out.
 */
export class ArchiveReceiver implements Receiver {
  private readonly open: () => ArchiveSource;
  private readonly settings: ArchiveReceiverSettings;
  private readonly context: BuiltInReceiverContext;
  private readonly store: CursorStore;
  private readonly intakes = new Map<Signal, BatchIntake>();
  private readonly stopping = new AbortController();
  private readonly work = new OrderedWork(MAX_PENDING);
  private readonly logProblem: (problem: { readonly object: string; readonly reason: string }) => void;
  private running: Promise<void> = Promise.resolve();
  private position: ReceiverPosition = { list: 0 };
  private problems = 0;
  private cursorName = "";

  constructor(open: () => ArchiveSource, settings: ArchiveReceiverSettings, context: BuiltInReceiverContext) {
    this.open = open;
    this.settings = settings;
    this.context = context;
    this.store = new CursorStore(settings.offsets_directory, context);
    const { clock, logger } = context;
    this.logProblem = limitedLog(clock, ({ object, reason }, suppressed) =>
      logger.warn({ object, reason, suppressed }, "an archived object was left out, or a part of it"),
    );
  }

  async start(): Promise<void> {
    await this.store.load("offsets_directory");
    const source = this.open();
    this.cursorName = this.cursorNameOf(source);
    this.position = JSON.parse(this.store.get(this.cursorName) ?? '{"list":0}') as ReceiverPosition;
    if (this.position.isDone) {
      source.close?.();
      this.context.logger.info({}, "this archive was read completely before; it is not read again");
      return;
    }
    for (const signal of SIGNALS)
      if (this.context.intakes[signal] !== undefined)
        this.intakes.set(signal, new BatchIntake({ signal, transport: source.transport }, this.context));
    this.running = this.run(source);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all([...this.intakes.values()].map((intake) => intake.stop()));
    await this.running;
    await this.work.settled();
    await this.store.close();
  }

  /** With another place or time range, reading begins anew. */
  private cursorNameOf({ place }: ArchiveSource): string {
    const { starttime, endtime, base, partitions, timezone, file_prefix } = this.settings;
    const zone = placeName(timezone) === "UTC" ? [] : [placeName(timezone)];
    const facts = JSON.stringify([place, starttime, endtime, base, partitions, file_prefix, ...zone]);
    return createHash("sha256").update(facts).digest("hex").slice(0, 16);
  }

  private async run(source: ArchiveSource): Promise<void> {
    const { logger } = this.context;
    const { starttime: since, endtime: until, base, partitions, timezone } = this.settings;
    const health = this.context.health?.source(source.place);
    const selection = { base, partitions, timezone, since, until };
    const objects = new ArchivedObjects(source, selection, this.context, this.stopping.signal);
    try {
      const isWanted = ({ key }: ArchivedObject) => this.contentOf(key) !== undefined;
      for await (const fetched of objects.fetched(this.position, isWanted)) await this.readOne(fetched, objects);
      await this.work.end();
      this.moveTo({ ...this.position, isDone: true });
      logger.info({ problems: this.problems }, "the archive was read completely");
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      health?.down((error as Error).message);
      logger.error({ err: error }, "the archive cannot be read; restart the agent to go on");
    } finally {
      source.close?.();
    }
  }

  private async readOne(fetched: FetchedObject, objects: ArchivedObjects): Promise<void> {
    const { object, position } = fetched;
    const content = this.contentOf(object.key);
    if (content !== undefined) await this.readPieces(content.name, fetched, objects, content.intake);
    await this.work.add(Promise.resolve(), () => this.moveTo(position));
  }

  /** Undefined for objects that are not ours, or that no pipeline takes. */
  private contentOf(key: string): { readonly name: ObjectName; readonly intake: BatchIntake } | undefined {
    const name = parseObjectName(key, this.settings.file_prefix);
    const intake = name && this.intakes.get(name.signal);
    return name && intake && { name, intake };
  }

  private async readPieces(
    name: ObjectName,
    { object, content }: FetchedObject,
    objects: ArchivedObjects,
    intake: BatchIntake,
  ): Promise<void> {
    const { key, version, modifiedAt } = object;
    const { inside } = this.position;
    let done = inside?.key === key && inside.version === version ? inside.pieces : 0;
    const address = `${objects.source.place}/${key}`;
    const stamp = this.settings.mark_rehydrated ? stampOf(address) : undefined;
    for (let tries = 0; ; ) {
      let piece = 0;
      try {
        for await (const batch of readObject(name, await content(), modifiedAt)) {
          if (piece++ < done) continue;
          await this.handIn(stamp?.apply(batch) ?? batch, intake, { key, version, pieces: ++done });
          tries = 0;
        }
        return;
      } catch (error) {
        if (!(error instanceof ArchiveError) || error.fault === undefined || error.isTransient) {
          await objects.waitAfter(error, tries++);
          continue;
        }
        this.problems++;
        return this.logProblem({ object: address, reason: error.message });
      }
    }
  }

  private handIn(batch: Batch, intake: BatchIntake, inside: NonNullable<ReceiverPosition["inside"]>): Promise<void> {
    const taken = intake.accept(batch, {}).then((outcome: MessageOutcome) => {
      if (outcome.kind === "returned") throw new Error("the agent stops");
    });
    return this.work.add(taken, () => this.moveTo({ ...this.position, inside }));
  }

  private moveTo(position: ReceiverPosition): void {
    this.position = position;
    this.store.set(this.cursorName, JSON.stringify(position));
  }
}

function stampOf(from: string): ResourceStamp {
  const marks = new Map<string, string | boolean>([
    [REHYDRATED_ATTRIBUTE, true],
    [REHYDRATED_FROM_ATTRIBUTE, from],
  ]);
  return new ResourceStamp(marks, "always");
}
