import type { Clock } from "../clock.js";
import type { Metrics } from "../observability.js";
import type { ReceiverStatus, SourceFacts } from "./receiver-status.js";

/**
 * @internal The health of a receiver. A receiver that reads from somewhere has a source for each queue, stream or
 * target, and reports whether it can be read. One that only listens is up while it runs.
 */
export class ReceiverHealth {
  /** When the receiver handed in data last. Set by its intakes, after they have called `noteMessage` once. */
  lastMessageAt: number | undefined;
  private readonly id: string;
  private readonly clock: Clock;
  private readonly metrics: Metrics;
  private readonly sources = new Map<string, SourceHealth>();
  private readonly endGauges: (() => void)[] = [];
  private reconnects = 0;
  private lastError: ReceiverStatus["lastError"];
  private hasLag = false;

  constructor(id: string, clock: Clock, metrics: Metrics) {
    this.id = id;
    this.clock = clock;
    this.metrics = metrics;
  }

  /** Registers the gauges. The returned function removes them. */
  start(): () => void {
    const isUp = () => (this.status().state === "DOWN" ? 0 : 1);
    this.gauge(
      "sluice_receiver_up",
      "1 while the receiver can read its source or listens for data, 0 while it cannot.",
      isUp,
    );
    return () => {
      for (const end of this.endGauges.splice(0)) end();
    };
  }

  /** Returns the health of one source, which is unknown until it reports something. Names must be unique. */
  source(name: string, maxLag = 0): SourceHealth {
    const known = this.sources.get(name);
    if (known !== undefined) return known;
    const source = new SourceHealth(maxLag, {
      onDown: (message) => {
        this.lastError = { at: this.clock.now(), source: name, message };
      },
      onReconnected: () => this.countReconnect(),
      onLag: () => this.registerLag(),
    });
    this.sources.set(name, source);
    return source;
  }

  /** The health of a part of the receiver. Its sources are sources of the receiver, with the name in front of theirs. */
  part(name: string): ReceiverHealth {
    return new PartHealth(name, this, this.clock, this.metrics);
  }

  /** To be called when a source no longer exists, such as a target that was removed. */
  removeSource(name: string): void {
    this.sources.delete(name);
  }

  /** To be called when the receiver has stopped for a while. */
  removeSources(): void {
    this.sources.clear();
  }

  /** To be called when a part has stopped. */
  removePart(name: string): void {
    for (const source of [...this.sources.keys()]) if (source.startsWith(`${name} `)) this.removeSource(source);
  }

  /** To be called when the receiver hands in data for the first time. */
  noteMessage(): void {
    if (this.lastMessageAt === undefined)
      this.gauge("sluice_receiver_last_message_age", "Seconds since the receiver handed in data.", () =>
        Math.max(0, (this.clock.now() - this.lastMessageAt!) / 1000),
      );
    this.lastMessageAt = this.clock.now();
  }

  status(): ReceiverStatus {
    const sources = [...this.sources];
    const down = sources.filter(([, { isUp }]) => isUp === false).map(([name]) => name);
    const isBehind = sources.some(([, { isBehind }]) => isBehind);
    const { id, lastMessageAt, lastError, reconnects } = this;
    return {
      id,
      state: stateOf(down.length, sources.length, isBehind),
      ...(lastMessageAt !== undefined && { lastMessageAt }),
      ...(lastError !== undefined && { lastError }),
      ...(this.hasLag && { lag: this.lag }),
      reconnects,
      down,
      ...factsOf(sources),
    };
  }

  private get lag(): number {
    let sum = 0;
    for (const { lag = 0 } of this.sources.values()) sum += lag;
    return sum;
  }

  private registerLag(): void {
    if (this.hasLag) return;
    this.hasLag = true;
    this.gauge("sluice_receiver_lag", "Messages that wait at the source.", () => this.lag);
  }

  private countReconnect(): void {
    this.reconnects += 1;
    const description = "How often a source recovered after a failure.";
    this.metrics.counter("sluice_receiver_reconnects", { description }, { receiver: this.id }).add(1);
  }

  private gauge(name: string, description: string, read: () => number): void {
    this.endGauges.push(this.metrics.gauge(name, { description }, read, { receiver: this.id }));
  }
}

class PartHealth extends ReceiverHealth {
  private readonly name: string;
  private readonly whole: ReceiverHealth;

  constructor(name: string, whole: ReceiverHealth, clock: Clock, metrics: Metrics) {
    super(name, clock, metrics);
    this.name = name;
    this.whole = whole;
  }

  override source(name: string, maxLag?: number): SourceHealth {
    return this.whole.source(`${this.name} ${name}`, maxLag);
  }

  override removeSource(name: string): void {
    this.whole.removeSource(`${this.name} ${name}`);
  }

  override noteMessage(): void {
    this.whole.noteMessage();
  }
}

function stateOf(down: number, sources: number, isBehind: boolean): ReceiverStatus["state"] {
  if (down > 0) return down === sources ? "DOWN" : "DEGRADED";
  return isBehind ? "DEGRADED" : "UP";
}

function factsOf(sources: readonly (readonly [string, SourceHealth])[]): Pick<ReceiverStatus, "facts"> {
  const known = sources.flatMap(([name, { facts }]) => (facts === undefined ? [] : [[name, facts] as const]));
  return known.length === 0 ? {} : { facts: Object.fromEntries(known) };
}

interface SourceListener {
  onDown(message: string): void;
  onReconnected(): void;
  onLag(): void;
}

/** @internal Whether one source can be read. */
export class SourceHealth {
  /** Undefined until it is known. */
  isUp: boolean | undefined;
  lag: number | undefined;
  facts: SourceFacts | undefined;
  private readonly maxLag: number;
  private readonly listener: SourceListener;

  constructor(maxLag: number, listener: SourceListener) {
    this.maxLag = maxLag;
    this.listener = listener;
  }

  get isBehind(): boolean {
    return this.maxLag > 0 && (this.lag ?? 0) > this.maxLag;
  }

  up(): void {
    if (this.isUp === false) this.listener.onReconnected();
    this.isUp = true;
  }

  down(message: string): void {
    this.isUp = false;
    this.listener.onDown(message);
  }

  /** Sets how many messages wait at the source. */
  setLag(messages: number): void {
    this.lag = messages;
    this.listener.onLag();
  }

  /** Sets what operators see about the source. */
  describe(facts: SourceFacts): void {
    this.facts = Object.keys(facts).length === 0 ? undefined : facts;
  }
}
