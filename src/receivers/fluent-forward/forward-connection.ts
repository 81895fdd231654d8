import type { Socket } from "node:net";
import { encodeAttributes, LogBatchWriter } from "#logs/entries";
import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import type { BatchIntake } from "#receiving";
import { turns } from "#work";
import type { Batch, Intake, ReceiverContext } from "../../plugin.js";
import { countRecords, type ForwardEvent, readEvent } from "./forward-event.js";
import { ValueScanner } from "./message-pack.js";
import type { WaitingRoom } from "./waiting-room.js";

interface ConnectionSettings {
  readonly intake: BatchIntake;
  /** Counts the bytes that connections hold in memory. */
  readonly room: Intake;
  readonly waitingRoom: WaitingRoom;
  readonly context: ReceiverContext;
  readonly logClosed: (event: { readonly reason: string }) => void;
}

const MAX_EVENT_BYTES = 32 * 1024 * 1024;
const INITIAL_BYTES = 64 * 1024;
/** A started event must be complete within this time, because incomplete events hold memory that others need. */
const EVENT_LIMIT_MS = 60_000;
/** How long a client may leave acknowledgements unread while it keeps sending. */
const UNREAD_LIMIT_MS = 60_000;
/** The same limit after the last event, when the receiver stops. */
const CLOSE_LIMIT_MS = 2000;

/** Events that were read together. */
interface ReadEvents {
  /** Undefined if the events have no records. */
  readonly batch: Batch | undefined;
  readonly acknowledgements: readonly Buffer[];
  /** Whether some events want no acknowledgement. */
  readonly isUnattended: boolean;
  /** Why the next event cannot be read. */
  readonly problem: string | undefined;
  /**
   * The bytes of memory that the next event still needs. Undefined if there is no next event or memory is not the
   * problem.
   */
  readonly missingBytes: number | undefined;
}

/**
 * The events of one client. Events that arrive together are handed in as one batch, and nothing more is read until
 * every exporter in the pipeline has that batch on disk. Then the client gets its acknowledgements, and nothing more is
 * read until the client has read them. Events that find no memory wait for it, and their client waits too. A client
 * whose event cannot be read or accepted is disconnected without an acknowledgement; the protocol makes it send the
 * event again. Events that ask for no acknowledgement are counted as refused.
 */
export class ForwardConnection {
  private readonly socket: Socket;
  private readonly settings: ConnectionSettings;
  private bytes = Buffer.alloc(0);
  private length = 0;
  private scanner = new ValueScanner(0);
  private reading: Promise<unknown> | undefined;
  private working: Promise<void> | undefined;
  private isStopping = false;
  private isLeaving = false;
  private cancelLimit: (() => void) | undefined;
  private endWait: (() => void) | undefined;
  /** The deadline for the first held event to get memory; undefined if it is not waiting. */
  private waitLimit: number | undefined;
  private isWaiting = false;
  /** Whether an event took too long to arrive while the connection itself was waiting for memory. */
  private isLate = false;

  /** `rest` is the beginning of an event that another receiver has read before. */
  constructor(socket: Socket, settings: ConnectionSettings, rest?: Buffer) {
    this.socket = socket;
    this.settings = settings;
    socket.on("error", this.onError).on("close", this.onClose).on("data", this.onData);
    if (rest !== undefined) this.onData(rest);
  }

  private readonly onError = () => {};
  private readonly onClose = () => this.releaseAll();
  private readonly onData = (chunk: Buffer) => {
    this.socket.pause();
    this.working = this.take(chunk).finally(() => {
      this.working = undefined;
      this.limitIncompleteEvent();
      if (!this.isStopping && !this.isLeaving) this.socket.resume();
    });
  };

  /**
   * Reads nothing more, and resolves when everything that has arrived was handed in and acknowledged. Returns the
   * beginning of the next event, where another receiver continues; undefined if the client is gone.
   */
  async leave(): Promise<Buffer | undefined> {
    const { socket } = this;
    this.isLeaving = true;
    socket.pause();
    await this.working;
    if (socket.destroyed) return undefined;
    socket.off("error", this.onError).off("close", this.onClose).off("data", this.onData);
    const rest = Buffer.from(this.bytes.subarray(0, this.length));
    this.releaseAll();
    return rest;
  }

  /** Resolves when the events that have arrived were handed in. */
  async stopReading(): Promise<void> {
    this.isStopping = true;
    this.socket.pause();
    this.endWait?.();
    // A wait that ends with room starts the next read.
    for (let reading = this.reading; reading !== undefined; ) {
      await reading;
      reading = this.reading === reading ? undefined : this.reading;
    }
  }

  /**
   * Waits for the work in progress, then closes the socket after its last writes, or after `CLOSE_LIMIT_MS` if the
   * client does not read them.
   */
  async finish(): Promise<void> {
    await this.working;
    if (this.socket.closed) return;
    this.socket.once(
      "close",
      this.settings.context.clock.after(CLOSE_LIMIT_MS, () => this.socket.destroy()),
    );
    this.socket.destroySoon();
  }

  private async take(chunk: Buffer): Promise<void> {
    if (this.length + chunk.length > MAX_EVENT_BYTES) return this.hangUp("an event exceeds the size limit");
    if (!this.append(chunk)) {
      const waiting = this.waitForRoom(chunk.length, () => this.append(chunk));
      this.reading = waiting;
      if (!(await waiting)) return this.giveUp(chunk);
    }
    return this.work();
  }

  /** Hands in the events that have arrived, in as many batches as memory allows. */
  private async work(): Promise<void> {
    for (;;) {
      const reading = this.readEvents();
      this.reading = reading;
      const { batch, acknowledgements, isUnattended, problem, missingBytes } = await reading;
      this.reading = undefined; // the settled promise would keep the batch in memory until the client sends again
      if (batch !== undefined && !(await this.handIn(batch, isUnattended))) return;
      for (const acknowledgement of acknowledgements) this.socket.write(acknowledgement);
      if (problem !== undefined) return this.hangUp(problem);
      await this.acknowledgementsRead();
      if (missingBytes === undefined) return;
      if (!(await this.waitForRoom(0, () => this.hasRoom(missingBytes)))) return this.giveUp();
    }
  }

  private async waitForRoom(held: number, attempt: () => boolean): Promise<boolean> {
    const { waitingRoom } = this.settings;
    this.waitLimit ??= waitingRoom.limit();
    this.isWaiting = true;
    const isOver = () => this.isStopping || this.isLate || this.socket.destroyed;
    const isAvailable = await waitingRoom.wait(held, this.waitLimit, attempt, isOver);
    this.isWaiting = false;
    return isAvailable;
  }

  private hasRoom(bytes: number): boolean {
    const { room } = this.settings;
    const isAvailable = room.reserve(bytes);
    if (isAvailable) room.release(bytes);
    return isAvailable;
  }

  /** Gives up because the held bytes, with `last`, found no memory in time. */
  private giveUp(last: Buffer = Buffer.alloc(0)): void {
    const { intake, context } = this.settings;
    const { records, isUnattended } = countRecords(Buffer.concat([this.bytes.subarray(0, this.length), last]));
    intake.refuse(records);
    if (isUnattended) context.logger.error({ records }, RECORDS_LOST);
    this.hangUp("there was no memory for its events");
  }

  /** Events before an unreadable one are still handed in. */
  private async readEvents(): Promise<ReadEvents> {
    const { room, context } = this.settings;
    const writer = new LogBatchWriter(NOTHING, NOTHING, INITIAL_BYTES);
    writer.observedAt(context.clock.now());
    const acknowledgements: Buffer[] = [];
    let isUnattended = false;
    let problem: string | undefined;
    let reserved = 0;
    let before = 0;
    let missingBytes: number | undefined;
    const reserve = (bytes: number) => {
      const isAvailable = room.reserve(bytes);
      if (isAvailable) reserved += bytes;
      else missingBytes = reserved - before + bytes;
      return isAvailable;
    };
    try {
      for await (const { acknowledgement } of this.completeEvents(reserve, writer)) {
        before = reserved;
        if (acknowledgement === undefined) isUnattended = true;
        else acknowledgements.push(acknowledgement);
      }
    } catch (error) {
      if (missingBytes === undefined) problem = (error as Error).message;
    }
    room.release(reserved);
    const batch = writer.count > 0 ? writer.finish() : undefined;
    return { batch, acknowledgements, isUnattended, problem, missingBytes };
  }

  private async *completeEvents(
    reserve: (bytes: number) => boolean,
    writer: LogBatchWriter,
  ): AsyncGenerator<ForwardEvent> {
    let from = 0;
    try {
      for (;;) {
        const end = this.scanner.end(this.bytes, this.length);
        if (end === undefined) break;
        yield await readEvent(this.bytes.subarray(from, end), reserve, writer);
        if (turns.isOver) await turns.next();
        from = end;
        this.scanner = new ValueScanner(end);
      }
    } finally {
      if (from > 0) this.drop(from);
    }
  }

  /** Returns false if the client was disconnected. */
  private async handIn(batch: Batch, isUnattended: boolean): Promise<boolean> {
    const { intake, context } = this.settings;
    const outcome = await intake.accept(batch, { transport: "fluent_forward", isUnattended });
    if (outcome.kind === "taken") return true;
    if (isUnattended) context.logger.error({ records: batch.count }, RECORDS_LOST);
    this.hangUp("its events could not be accepted");
    return false;
  }

  /**
   * Resolves when the client has read what was written to it, or is gone. A client that does not read is disconnected.
   */
  private acknowledgementsRead(): Promise<void> {
    const { socket } = this;
    if (!socket.writableNeedDrain || this.isStopping) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.settings.context.clock.after(UNREAD_LIMIT_MS, () =>
        this.hangUp("the client does not read its acknowledgements"),
      );
      const end = () => {
        cancel();
        socket.off("drain", end).off("close", end);
        this.endWait = undefined;
        resolve();
      };
      this.endWait = end;
      socket.on("drain", end).on("close", end);
    });
  }

  /**
   * Doubles the capacity as needed, so an event that arrives in many pieces is copied only a few times. Returns false
   * if there is no memory.
   */
  private append(chunk: Buffer): boolean {
    const needed = this.length + chunk.length;
    if (needed > this.bytes.length) {
      const capacity = Math.max(INITIAL_BYTES, 2 ** Math.ceil(Math.log2(needed)));
      if (!this.settings.room.reserve(capacity - this.bytes.length)) return false;
      const larger = Buffer.allocUnsafe(capacity);
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    chunk.copy(this.bytes, this.length);
    this.length = needed;
    return true;
  }

  /** Removes the first bytes. A silent client then holds no memory. */
  private drop(count: number): void {
    const rest = this.length - count;
    this.waitLimit = undefined;
    if (rest <= 0) return this.releaseAll();
    this.cancelLimit?.(); // the event that is now incomplete started later
    this.cancelLimit = undefined;
    this.bytes.copy(this.bytes, 0, count, this.length);
    this.length = rest;
    this.scanner = new ValueScanner(0);
  }

  private limitIncompleteEvent(): void {
    if (this.length === 0 || this.socket.destroyed) return;
    this.cancelLimit ??= this.settings.context.clock.after(EVENT_LIMIT_MS, () => {
      if (this.isWaiting) this.isLate = true;
      else this.hangUp("an event took too long to arrive");
    });
  }

  /** Releases everything held, including an incomplete event. */
  private releaseAll(): void {
    this.cancelLimit?.();
    this.cancelLimit = undefined;
    this.settings.room.release(this.bytes.length);
    this.bytes = Buffer.alloc(0);
    this.length = 0;
    this.scanner = new ValueScanner(0);
  }

  private hangUp(reason: string): void {
    if (!this.isStopping) this.settings.logClosed({ reason });
    this.socket.destroy();
  }
}

const NOTHING = encodeAttributes({}, RESOURCE_ATTRIBUTES_TAG);
const RECORDS_LOST = "records were lost: they were refused, and the protocol has no way to tell their sender";
