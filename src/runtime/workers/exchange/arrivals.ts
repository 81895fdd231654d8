import { timingSafeEqual } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { Debt, Delivery, type Logger, type Outcome } from "#contract";
import { BUSY_RETRY_AFTER_MS, ERROR_CODES, errorMessage, Refusal } from "#contract/errors";
import {
  acceptedFrame,
  BadFrameError,
  DataReader,
  FRAMES,
  leavingFrame,
  outcomeFrame,
  readHello,
  readPlace,
  WorkerFrameReader,
} from "./frames.js";
import { removeSocket, restrictSocket } from "./socket-directory.js";

interface ArrivalsSettings {
  readonly path: string;
  readonly key: Buffer;
  readonly logger: Logger;
  /** Returns what takes the deliveries that arrive at a place; undefined if this worker has no such place. */
  readonly find: (place: string) => ((delivery: Delivery) => void) | undefined;
}

/** Listens for other workers, hands on what they send, and answers each delivery when it is settled. */
export class Arrivals {
  private readonly settings: ArrivalsSettings;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  constructor(settings: ArrivalsSettings) {
    this.settings = settings;
    this.server = createServer((socket) => this.onConnection(socket));
  }

  /** `exclusive`, because in a worker of Node's cluster module the parent would otherwise share the socket out. */
  async start(): Promise<void> {
    const { path } = this.settings;
    await removeSocket(path);
    await new Promise<void>((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen({ path, exclusive: true }, () => {
        this.server.off("error", reject);
        resolve();
      });
    });
    await restrictSocket(path);
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) {
      socket.write(leavingFrame());
      socket.destroy();
    }
    if (!this.server.listening) return;
    await new Promise((resolve) => this.server.close(resolve));
  }

  private onConnection(socket: Socket): void {
    const { settings } = this;
    const arriving = new ArrivingFrames(socket, settings);
    this.sockets.add(socket);
    socket.on("data", (chunk: Buffer) => {
      try {
        arriving.reader.push(chunk);
      } catch (error) {
        settings.logger.warn(
          { reason: errorMessage(error) },
          "closed a connection that did not come from another worker",
        );
        socket.destroy();
      }
    });
    socket.on("error", () => {}); // "close" follows
    socket.on("close", () => this.sockets.delete(socket));
  }
}

/** The frames of one connection. */
class ArrivingFrames {
  readonly reader = new WorkerFrameReader((frame) => this.onFrame(frame));
  private readonly socket: Socket;
  private readonly settings: ArrivalsSettings;
  private readonly data = new DataReader();
  private readonly places = new Map<number, string>();
  private hasGreeted = false;
  private accepted: number[] = [];
  private isFlushing = false;

  constructor(socket: Socket, settings: ArrivalsSettings) {
    this.socket = socket;
    this.settings = settings;
  }

  private onFrame(frame: Buffer): void {
    if (this.socket.destroyed) return;
    if (!this.hasGreeted) this.greet(frame);
    else if (frame[0] === FRAMES.data) this.arrive(frame);
    else if (frame[0] === FRAMES.place) {
      const { number, name } = readPlace(frame);
      this.places.set(number, name);
    } else throw new BadFrameError(`a frame of type ${frame[0]}`);
  }

  private greet(frame: Buffer): void {
    const { key } = readHello(frame);
    const expected = this.settings.key;
    if (key.length !== expected.length || !timingSafeEqual(key, expected)) throw new BadFrameError("another key");
    this.hasGreeted = true;
    this.reader.acceptAnyLength();
  }

  private arrive(frame: Buffer): void {
    const { batch, origin, setback } = this.data.read(frame);
    const { id, place: number } = this.data;
    const place = this.places.get(number);
    if (place === undefined) throw new BadFrameError(`data for place ${number}`);
    const take = this.settings.find(place);
    const debt = new Debt((outcome) => this.answer(id, outcome));
    const delivery = new Delivery(batch, origin, debt, undefined, setback);
    if (take === undefined) return delivery.refuse(unknownPlace(place));
    try {
      take(delivery);
    } catch (error) {
      delivery.refuse(error);
    }
  }

  /** Deliveries that are accepted in one turn of the event loop are answered together. */
  private answer(id: number, outcome: Outcome): void {
    if (this.socket.destroyed) return;
    const isPlain = outcome.ok && outcome.rejected === 0 && outcome.message === "";
    if (!isPlain) return void this.socket.write(outcomeFrame(id, outcome));
    this.accepted.push(id);
    if (this.isFlushing) return;
    this.isFlushing = true;
    process.nextTick(() => this.flush());
  }

  private flush(): void {
    const ids = this.accepted;
    this.accepted = [];
    this.isFlushing = false;
    if (!this.socket.destroyed) this.socket.write(acceptedFrame(ids));
  }
}

/** During a reload the workers have different configs for a moment. */
function unknownPlace(place: string): Refusal {
  const message = `this worker has no ${place} at the moment`;
  const code = ERROR_CODES.SLUICE_WORKER_GONE;
  return new Refusal("transient", message, { code, retryAfterMs: BUSY_RETRY_AFTER_MS });
}
