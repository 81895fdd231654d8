import { EMPTY, identity, ignoreElements, type Observable, type OperatorFunction, tap } from "rxjs";
import type { Clock, Delivery, Logger, Metrics, Processor } from "#contract";
import { shutdownRefusal } from "#contract/errors";
import { type Choose, Junction } from "./junction.js";
import { PartialAcceptance } from "./partial-acceptance.js";
import type { Outgoing } from "./running-exporter.js";
import { type Deliveries, type Former, GraphEntry, GraphPlace, type Refusable, whenEnded } from "./streams.js";

interface WiringSettings {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** The wiring that runs, whose places are taken over. */
  readonly running?: Wiring | undefined;
}

/** How a place is made, or taken over. */
interface PlaceSettings {
  /** The component that is to run there. Undefined if the one that runs stays. */
  readonly version: Processor | undefined;
  readonly choose?: Choose | undefined;
}

/** The parts that a switch has replaced or removed. */
export interface Retired {
  /** Components and places that hand on what they hold. */
  readonly formers: readonly Former[];
  /** Entries without a pipeline. They are to be closed when their receivers have stopped. */
  readonly entries: readonly GraphEntry[];
}

const NOWHERE = { next() {}, error() {}, complete() {} };

/**
 * The places of a graph, by name, and what leads from one to another. A new wiring takes over places that run, and changes
 * nothing about them until it is used: in one synchronous step, so every delivery takes either the old way or the new.
 */
export class Wiring {
  private readonly places = new Map<string, GraphPlace<Delivery, Delivery>>();
  private readonly entries = new Map<string, GraphEntry>();
  private readonly ends = new Map<string, GraphPlace<Outgoing, never>>();
  private readonly junctions = new Map<string, Junction>();
  private readonly services: Omit<WiringSettings, "running">;
  private running: Wiring | undefined;
  private connections: { readonly from: string; readonly branch: string; readonly connect: () => void }[] = [];
  /** Puts components into places that run, by the keys of the places; a new place gets its first one at once. */
  private readonly exchanged = new Map<string, () => Former | undefined>();

  constructor(settings: WiringSettings) {
    const { logger, clock, metrics, running } = settings;
    this.services = { logger, clock, metrics }; // nothing else that the settings may hold
    this.running = running;
  }

  entry(key: string): GraphEntry {
    const known = this.entries.get(key);
    if (known !== undefined) return known;
    const junction = this.junctionOf(key);
    const entry = this.running?.entries.get(key) ?? new GraphEntry(key, junction);
    this.entries.set(key, entry);
    return entry;
  }

  hasPlace(key: string): boolean {
    return this.places.has(key);
  }

  addPlace(key: string, { version, choose }: PlaceSettings): void {
    const running = this.running?.places.get(key);
    const junction = this.junctionOf(key, choose);
    const place = running ?? new GraphPlace(key, junction, this.services.logger);
    this.places.set(key, place);
    this.exchange(place, version, running !== undefined);
  }

  addEnd(key: string, version: OperatorFunction<Outgoing, never> | undefined): void {
    const running = this.running?.ends.get(key);
    const place = running ?? new GraphPlace<Outgoing, never>(key, NOWHERE, this.services.logger);
    this.ends.set(key, place);
    this.exchange(place, version, running !== undefined);
  }

  /** Whether this wiring has such a branch already. */
  isConnected(from: string, branch: string): boolean {
    return this.connections.some((each) => each.from === from && each.branch === branch);
  }

  /** Leads from an entry or a place to another place. The branch name is what a fan-out remembers it by. */
  connect(from: string, branch: string, to: string, through: (stream: Deliveries) => Deliveries = identity): void {
    this.connectTo(from, branch, this.places.get(to)!, through);
  }

  /** Leads from each of these places to the next one. */
  connectInLine(places: readonly string[]): void {
    for (const [i, place] of places.slice(1).entries()) this.connect(places[i]!, place, place);
  }

  connectToEnd(from: string, end: string, through: (stream: Deliveries) => Observable<Outgoing>): void {
    this.connectTo(from, end, this.ends.get(end)!, through);
  }

  /** The running places that get another component, or none, when this is used. Each comes after those that feed it. */
  get changes(): readonly string[] {
    const running = this.running?.places ?? new Map<string, unknown>();
    return [...running.keys()].filter((key) => this.exchanged.has(key) || !this.places.has(key));
  }

  /** From now on what comes to this place or end waits, until another component is used there. */
  hold(key: string): Former {
    const place = this.places.get(key) ?? this.ends.get(key)!;
    return place.hold() ?? { ended: EMPTY, abort() {} };
  }

  /** The end of a removed exporter. It drains when it is closed, and nothing leads to it any more. */
  end(key: string): Pick<GraphPlace<Outgoing, never>, "close" | "abort" | "ended"> {
    return this.ends.get(key)!;
  }

  /** Connects what is new, which may then run beside what is to be replaced. */
  begin(): void {
    for (const { from, connect } of this.connections) if (!this.isTakenOver(from)) connect();
  }

  /**
   * Switches. All ways lead where they should before any component is completed, because what it still hands on must
   * take them.
   */
  use(): Retired {
    const { running } = this;
    const kept = [...this.junctions].filter(([key]) => this.isTakenOver(key));
    const completions = kept.map(([, junction]) => junction.clear());
    for (const { from, connect } of this.connections) if (this.isTakenOver(from)) connect();
    const replaced = [...this.exchanged.values()].flatMap((exchange) => exchange() ?? []);
    for (const complete of completions) complete();
    const removed = missing(running?.places, this.places);
    for (const place of removed) leave(place);
    const entries = missing(running?.entries, this.entries);
    const formers = [...replaced, ...removed.map((place) => withJunction(place, running!.junctions.get(place.key)!))];
    this.forget();
    return { formers, entries };
  }

  /** Removes what is new, and was not used. */
  discard(): void {
    for (const entry of missing(this.entries, this.running?.entries)) entry.close();
    for (const place of missing(this.places, this.running?.places)) {
      withJunction(place, this.junctions.get(place.key)!).abort();
    }
    for (const end of missing(this.ends, this.running?.ends)) end.abort();
    this.forget();
  }

  /** Ends the input. Resolves when all ends have drained: everything has gone through then. */
  drain(): Promise<void> {
    for (const place of [...this.places.values(), ...this.ends.values()]) place.close();
    for (const entry of this.entries.values()) entry.close();
    return whenEnded([...this.ends.values()]);
  }

  /** Refuses everything that is still inside. What is connected later gets nothing, and need not wait for it. */
  abort(): void {
    for (const part of [...this.entries.values(), ...this.places.values(), ...this.ends.values()]) part.abort();
    for (const junction of this.junctions.values()) junction.complete();
  }

  private junctionOf(key: string, choose?: Choose): Junction {
    const known = this.junctions.get(key) ?? this.running?.junctions.get(key);
    const junction = known ?? new Junction(this.createMemory(), this.services.logger, choose);
    this.junctions.set(key, junction);
    return junction;
  }

  private exchange<In extends Refusable, Out>(
    place: GraphPlace<In, Out>,
    version: OperatorFunction<In, Out> | undefined,
    isRunning: boolean,
  ): void {
    if (version === undefined) return;
    if (isRunning) this.exchanged.set(place.key, () => place.use(version));
    else place.use(version);
  }

  private connectTo<In extends Refusable>(
    from: string,
    branch: string,
    to: GraphPlace<In, unknown>,
    through: (stream: Deliveries) => Observable<In>,
  ): void {
    const junction = this.junctions.get(from)!;
    // Found here, because a switch must not stop half-way.
    if (this.isConnected(from, branch)) throw new Error(`there are two ways ${branch} from ${from}`);
    this.connections.push({ from, branch, connect: () => to.add(through(junction.branch(branch))) });
  }

  private isTakenOver(key: string): boolean {
    return this.running?.junctions.has(key) === true;
  }

  /** The former parts, and those of its config, are not kept in memory. */
  private forget(): void {
    this.running = undefined;
    this.connections = [];
    this.exchanged.clear();
  }

  /** Every fan-out has its own memory. */
  private createMemory(): PartialAcceptance<string> {
    const { clock, metrics } = this.services;
    const description = "Records of retries that were skipped for an exporter or pipeline that already had them.";
    return new PartialAcceptance(clock, metrics.counter("sluice_fan_out_duplicates", { description }));
  }
}

/** The parts of one map that another one has not. */
function missing<T>(from: ReadonlyMap<string, T> = new Map(), others: ReadonlyMap<string, T> = new Map()): T[] {
  return [...from].filter(([key, each]) => others.get(key) !== each).map(([, each]) => each);
}

/** Deliveries that are held in front of a removed component are refused: they must not go on untreated. */
function leave(place: GraphPlace<Delivery, Delivery>): void {
  if (place.isHolding) place.use(refusing);
  place.close();
}

const refusing: Processor = (deliveries) =>
  deliveries.pipe(
    tap((delivery) => delivery.refuse(shutdownRefusal())),
    ignoreElements(),
  );

/** An abort also ends the ways from the place on, because the places behind it wait for them when they drain. */
function withJunction(place: GraphPlace<Delivery, Delivery>, junction: Junction): Former {
  return {
    ended: place.ended,
    abort() {
      place.abort();
      junction.complete();
    },
  };
}
