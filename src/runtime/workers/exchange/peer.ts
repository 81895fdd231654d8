import { connect, type Socket } from "node:net";
import { ACCEPTED, type Clock, type Debt, type Delivery, type Logger, limitedLog, type Outcome } from "#contract";
import { BUSY_RETRY_AFTER_MS, ERROR_CODES, errorMessage, Refusal } from "#contract/errors";
import { backoff } from "#resilience";
import {
  BadFrameError,
  dataFrame,
  FRAMES,
  helloFrame,
  placeFrame,
  readAccepted,
  readOutcome,
  WorkerFrameReader,
} from "./frames.js";

const BACKOFF = { first: 20, max: 1000 };
/** How long data waits for a worker that is not there, such as one that restarts. */
const MAX_ABSENCE_MS = 5000;
/** A worker that is back by then is not reported as gone. */
const WARNING_DELAY_MS = 2000;

/** Data of one place on its way to one worker. */
interface UnderWay {
  readonly debt: Debt;
  readonly bytes: number;
  readonly lane: PlaceLane;
}

/**
 * The way from one place to the same place in one other worker, with its own limit: a delivery may pass several places
 * on its way, back and forth between workers, and those at a later place must not wait for those at an earlier one.
 */
export class PlaceLane {
  readonly place: string;
  readonly limit: () => number;
  readonly waiting: Delivery[] = [];
  /** Bytes of deliveries that wait, and of those that were sent and not answered. */
  waitingBytes = 0;
  sentBytes = 0;
  isClosed = false;

  constructor(place: string, limit: () => number) {
    this.place = place;
    this.limit = limit;
  }

  /** A delivery larger than the limit fits if nothing else is under way. */
  fits(bytes: number): boolean {
    return this.sentBytes === 0 || this.sentBytes + bytes <= this.limit();
  }
}

interface PeerSettings {
  readonly path: string;
  /** The number of the other worker. */
  readonly worker: number;
  /** The number of this worker. */
  readonly own: number;
  readonly key: Buffer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * The connection to another worker, for what belongs to it. It is opened again whenever it ends; what was under way then
 * is refused with a retryable error, because it is unknown whether the other worker has it.
 */
export class Peer {
  private readonly settings: PeerSettings;
  private readonly lanes = new Set<PlaceLane>();
  private readonly underWay = new Map<number, UnderWay>();
  private readonly logGone: (why: string) => void;
  private socket: Socket | undefined;
  private isConnected = false;
  /** True if the other worker has been gone for so long that nothing waits for it any more. */
  private isLost = false;
  /** True if the other worker has said that it ends. Its absence is then no reason for a warning. */
  private isLeaving = false;
  private isClosed = false;
  private failures = 0;
  private cancelRetry = () => {};
  private cancelLoss = () => {};
  private cancelWarning = () => {};
  private lastId = 0;
  private isCorked = false;
  private placeNumbers = new Map<string, number>();

  constructor(settings: PeerSettings) {
    this.settings = settings;
    this.logGone = limitedLog(settings.clock, (why: string, suppressed) =>
      settings.logger.warn(
        { otherWorker: settings.worker, reason: why, suppressed },
        "no connection to another worker",
      ),
    );
  }

  start(): void {
    this.expectWithin(MAX_ABSENCE_MS);
    this.connect();
  }

  addLane(lane: PlaceLane): void {
    this.lanes.add(lane);
  }

  /** Sends the delivery, now or when there is room and a connection, and settles it with the other worker's answer. */
  send(delivery: Delivery, lane: PlaceLane): void {
    const bytes = delivery.batch.byteLength;
    if (this.isClosed || this.isLost || lane.isClosed) return delivery.refuse(this.goneRefusal());
    if (this.isConnected && lane.waiting.length === 0 && lane.fits(bytes)) return this.transmit(delivery, lane);
    if (lane.waitingBytes > 0 && lane.waitingBytes + bytes > lane.limit())
      return delivery.refuse(this.busyRefusal(lane));
    lane.waiting.push(delivery);
    lane.waitingBytes += bytes;
  }

  /** Refuses everything that is under way on this lane. */
  closeLane(lane: PlaceLane): void {
    lane.isClosed = true;
    this.lanes.delete(lane);
    this.refuseWaiting(lane);
    for (const [id, each] of [...this.underWay]) {
      if (each.lane !== lane) continue;
      this.underWay.delete(id);
      each.debt.settle({ ok: false, refusal: this.goneRefusal() });
    }
  }

  /** Everything under way is refused. */
  close(): void {
    this.isClosed = true;
    this.cancelRetry();
    this.cancelLoss();
    this.cancelWarning();
    this.socket?.destroy();
    this.refuseSent();
    for (const lane of this.lanes) this.refuseWaiting(lane);
  }

  private connect(): void {
    const socket = connect(this.settings.path);
    this.socket = socket;
    let why = "the connection ended";
    const reader = new WorkerFrameReader((frame) => this.onFrame(frame));
    reader.acceptAnyLength();
    socket.on("connect", () => this.onConnected(socket));
    socket.on("data", (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        why = errorMessage(error);
        socket.destroy();
      }
    });
    socket.on("error", (error) => {
      why = errorMessage(error);
    });
    socket.on("close", () => this.onClosed(why));
  }

  private onConnected(socket: Socket): void {
    const { key, own } = this.settings;
    socket.write(helloFrame(key, own));
    this.placeNumbers = new Map();
    this.isConnected = true;
    this.isLost = false;
    this.isLeaving = false;
    this.cancelWarning();
    this.cancelLoss();
    for (const lane of this.lanes) this.sendWaiting(lane);
  }

  private onClosed(why: string): void {
    const wasConnected = this.isConnected;
    this.isConnected = false;
    this.isCorked = false;
    if (this.isClosed) return;
    if (wasConnected) {
      // When an agent stops, this worker may learn of it after it has lost the others.
      if (!this.isLeaving) this.cancelWarning = this.settings.clock.after(WARNING_DELAY_MS, () => this.logGone(why));
      this.expectWithin(MAX_ABSENCE_MS);
      this.refuseSent();
    }
    this.failures += 1;
    const ms = backoff(BACKOFF, this.settings)(this.failures);
    this.cancelRetry = this.settings.clock.after(ms, () => this.connect());
  }

  /** If there is no connection by then, what waits is refused, and so is everything that comes later. */
  private expectWithin(ms: number): void {
    this.cancelLoss();
    this.cancelLoss = this.settings.clock.after(ms, () => {
      this.isLost = true;
      const isMissed = [...this.lanes].some(({ waiting }) => waiting.length > 0);
      if (isMissed || !this.isLeaving) this.logGone(`none within ${ms} ms`);
      for (const lane of this.lanes) this.refuseWaiting(lane);
    });
  }

  private onFrame(frame: Buffer): void {
    this.failures = 0;
    if (frame[0] === FRAMES.accepted) for (const id of readAccepted(frame)) this.settle(id, ACCEPTED);
    else if (frame[0] === FRAMES.outcome) {
      const { id, outcome } = readOutcome(frame);
      this.settle(id, outcome);
    } else if (frame[0] === FRAMES.leaving) this.isLeaving = true;
    else throw new BadFrameError(`an answer of type ${frame[0]}`);
  }

  private settle(id: number, outcome: Outcome): void {
    const found = this.underWay.get(id);
    if (found === undefined) return;
    this.underWay.delete(id);
    const { debt, bytes, lane } = found;
    lane.sentBytes -= bytes;
    debt.settle(outcome);
    if (lane.waiting.length > 0) this.sendWaiting(lane);
  }

  private sendWaiting(lane: PlaceLane): void {
    while (this.isConnected && lane.waiting.length > 0 && lane.fits(lane.waiting[0]!.batch.byteLength)) {
      const delivery = lane.waiting.shift()!;
      lane.waitingBytes -= delivery.batch.byteLength;
      this.transmit(delivery, lane);
    }
  }

  /** The batch is not kept: only the debt waits for the answer. */
  private transmit({ batch, origin, setback, debt }: Delivery, lane: PlaceLane): void {
    const { socket } = this;
    if (socket === undefined) return;
    this.lastId = (this.lastId + 1) >>> 0;
    const id = this.lastId;
    const bytes = batch.byteLength;
    this.corkUntilNextTick(socket);
    const place = this.placeNumber(socket, lane.place);
    socket.write(dataFrame(id, place, batch, { origin, setback }));
    for (const chunk of batch.chunks) socket.write(chunk);
    lane.sentBytes += bytes;
    this.underWay.set(id, { debt, bytes, lane });
  }

  private placeNumber(socket: Socket, name: string): number {
    const known = this.placeNumbers.get(name);
    if (known !== undefined) return known;
    const number = this.placeNumbers.size;
    this.placeNumbers.set(name, number);
    socket.write(placeFrame(number, name));
    return number;
  }

  /** Frames that are sent in one turn of the event loop cost one write. */
  private corkUntilNextTick(socket: Socket): void {
    if (this.isCorked) return;
    this.isCorked = true;
    socket.cork();
    process.nextTick(() => {
      this.isCorked = false;
      socket.uncork();
    });
  }

  private refuseSent(): void {
    const sent = [...this.underWay.values()];
    this.underWay.clear();
    for (const { lane } of sent) lane.sentBytes = 0;
    for (const { debt } of sent) debt.settle({ ok: false, refusal: this.goneRefusal() });
  }

  private refuseWaiting(lane: PlaceLane): void {
    const waiting = lane.waiting.splice(0);
    lane.waitingBytes = 0;
    for (const delivery of waiting) delivery.refuse(this.goneRefusal());
  }

  private goneRefusal(): Refusal {
    const message = `worker ${this.settings.worker}, which this data belongs to, is not available`;
    const code = ERROR_CODES.SLUICE_WORKER_GONE;
    return new Refusal("transient", message, { code, retryAfterMs: BUSY_RETRY_AFTER_MS });
  }

  private busyRefusal(lane: PlaceLane): Refusal {
    const message = `over the limit of ${lane.limit()} bytes on the way to worker ${this.settings.worker}`;
    const code = ERROR_CODES.SLUICE_OVERLOADED;
    return new Refusal("throttled", message, { code, retryAfterMs: BUSY_RETRY_AFTER_MS });
  }
}
