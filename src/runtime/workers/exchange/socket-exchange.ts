import { type Clock, type Counter, Delivery, type Logger, type Metrics, type Origin, systemClock } from "#contract";
import { shutdownRefusal } from "#contract/errors";
import type { ExchangePlace, ExchangePlaceSettings, WorkerExchange } from "#pipeline";
import { Arrivals } from "./arrivals.js";
import { Peer, PlaceLane } from "./peer.js";
import { checkDirectory, socketPath, type WorkerAddress } from "./socket-directory.js";
import { splitByWorker } from "./split-by-worker.js";

export interface SocketExchangeSettings {
  readonly worker: WorkerAddress;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/**
 * Moves deliveries between the workers of an agent over Unix sockets. Each worker listens, and connects to all others.
 *
 * Invariants:
 * - A delivery is settled as the other worker settles it, once: with its refusal, or after its fsync.
 * - If a connection ends, everything under way on it is refused as transient. The other worker may have it, so it may
 *   arrive twice, but is never lost.
 * - Bytes under way are limited for each place and worker. Deliveries from other workers do not count against the limit
 *   of this worker's own clients, so two workers that send to each other cannot block each other.
 */
export class SocketExchange implements WorkerExchange {
  readonly number: number;
  readonly count: number;
  private readonly settings: SocketExchangeSettings;
  private readonly moved: Counter;
  private readonly places = new Map<string, OpenPlace>();
  private readonly peers = new Map<number, Peer>();
  private arrivals: Arrivals | undefined;
  private isStopped = false;

  constructor(settings: SocketExchangeSettings) {
    this.settings = settings;
    this.number = settings.worker.number;
    this.count = settings.worker.count;
    const description = "Records that were moved to their worker.";
    this.moved = settings.metrics.counter("sluice_worker_moved_items", { description });
  }

  async start(): Promise<void> {
    const { worker, logger, clock = systemClock, random = Math.random } = this.settings;
    await checkDirectory(worker);
    const key = Buffer.from(worker.key);
    const path = (number: number) => socketPath(worker.socketDirectory, number);
    const find = (place: string) => this.places.get(place)?.onArrival;
    const arrivals = new Arrivals({ path: path(this.number), key, logger, find });
    await arrivals.start();
    if (this.isStopped) return arrivals.stop();
    this.arrivals = arrivals;
    for (let number = 1; number <= this.count; number++) {
      if (number === this.number) continue;
      const peer = new Peer({ path: path(number), worker: number, own: this.number, key, clock, random, logger });
      this.peers.set(number, peer);
      for (const place of this.places.values()) place.connect(number, peer);
      peer.start();
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    for (const place of this.places.values()) place.close();
    for (const peer of this.peers.values()) peer.close();
    await this.arrivals?.stop();
  }

  open(place: string, settings: ExchangePlaceSettings): ExchangePlace {
    const onClosed = () => {
      if (this.places.get(place) === opened) this.places.delete(place);
    };
    const opened = new OpenPlace(place, settings, this, this.moved, onClosed);
    this.places.set(place, opened);
    for (const [number, peer] of this.peers) opened.connect(number, peer);
    return opened;
  }
}

class OpenPlace implements ExchangePlace {
  readonly onArrival: ExchangePlaceSettings["onArrival"];
  private readonly name: string;
  private readonly settings: ExchangePlaceSettings;
  private readonly workers: Pick<WorkerExchange, "number" | "count">;
  private readonly moved: Counter;
  private readonly onClosed: () => void;
  private readonly ways = new Map<number, { readonly peer: Peer; readonly lane: PlaceLane }>();
  /** Deliveries that came before this worker was connected, such as those of a journal. */
  private early: { readonly delivery: Delivery; readonly to: number }[] = [];
  private isClosed = false;
  private underWay = 0;
  private onSettled: (() => void)[] = [];

  constructor(
    name: string,
    settings: ExchangePlaceSettings,
    workers: Pick<WorkerExchange, "number" | "count">,
    moved: Counter,
    onClosed: () => void,
  ) {
    this.name = name;
    this.settings = settings;
    this.onArrival = settings.onArrival;
    this.workers = workers;
    this.moved = moved;
    this.onClosed = onClosed;
  }

  connect(worker: number, peer: Peer): void {
    const lane = new PlaceLane(this.name, this.settings.limit);
    this.ways.set(worker, { peer, lane });
    peer.addLane(lane);
    const early = this.early.filter(({ to }) => to === worker);
    this.early = this.early.filter(({ to }) => to !== worker);
    for (const { delivery } of early) peer.send(delivery, lane);
  }

  /** A setback skips the components that need whole traces or series, so it may stay here. */
  handOver(delivery: Delivery): Delivery | undefined {
    const { mode } = this.settings;
    const { number: here, count } = this.workers;
    if (mode === "one") return here === 1 ? delivery : this.send(delivery, 1);
    if (delivery.setback !== undefined) return delivery;
    const parts = splitByWorker(delivery.batch, mode, count, here - 1);
    const used = parts.flatMap((batch, i) => (batch === undefined ? [] : [{ batch, worker: i + 1 }]));
    const [first, second] = used;
    if (first === undefined) return delivery;
    if (second === undefined) return first.worker === here ? delivery : this.send(delivery, first.worker);
    const debts = delivery.debt.divide(used.length);
    let own: Delivery | undefined;
    for (const [i, { batch, worker }] of used.entries()) {
      const part = new Delivery(batch, originOfPart(delivery.origin, worker), debts[i]!, delivery.route);
      if (worker === here) own = part;
      else this.send(part, worker);
    }
    return own;
  }

  settled(): Promise<void> {
    return this.underWay === 0 ? Promise.resolve() : new Promise((resolve) => this.onSettled.push(resolve));
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.onClosed();
    for (const { delivery } of this.early.splice(0)) delivery.refuse(shutdownRefusal());
    for (const { peer, lane } of this.ways.values()) peer.closeLane(lane);
  }

  private send(delivery: Delivery, to: number): undefined {
    this.underWay += 1;
    this.moved.add(delivery.batch.count);
    const observed = delivery.observe(() => this.onAnswer());
    const way = this.ways.get(to);
    if (this.isClosed) observed.refuse(shutdownRefusal());
    else if (way === undefined) this.early.push({ delivery: observed, to });
    else way.peer.send(observed, way.lane);
  }

  private onAnswer(): void {
    this.underWay -= 1;
    if (this.underWay === 0) for (const resolve of this.onSettled.splice(0)) resolve();
  }
}

/** The same records are divided in the same way when they are sent again, so their parts have their own keys. */
function originOfPart(origin: Origin, worker: number): Origin {
  if (origin.position === undefined && origin.key === undefined) return origin;
  const { position: _, key, ...rest } = origin;
  if (key !== undefined) return { ...rest, key: `${key}/worker-${worker}` };
  const { isOnce: __, ...others } = rest;
  return others;
}
