import type { Clock, Logger } from "#contract";
import type { AttemptError, ExporterStatus } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import type { Signal } from "#otlp/signals";
import { holdKeyOf, type QueueItem } from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { type Backoff, createBackoff } from "./backoff.js";
import { createHoldRule } from "./classify.js";
import { type CallEnd, type GroupHold, POLICY, type SendPolicy, type Trouble } from "./policy.js";
import type { Successes } from "./recent-calls.js";

interface HoldsServices {
  readonly settings: CompleteSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly trouble: Trouble;
  readonly successes: Successes;
  /**
   * Called when a lane is no longer held, so that entries under its key need not wait. `wasReported`: the hold lasted long
   * enough to be reported.
   */
  readonly onHoldEnd: (key: string, wasReported: boolean) => void;
  /**
   * Called with entries that were refused together with this error and are to blame themselves. They need not be sent
   * again.
   */
  readonly onBlamed: (items: readonly QueueItem[], error: AttemptError) => void;
  /** Whether entries of the lane with this key are waiting. */
  readonly hasHeld: (key: string) => boolean;
}

/** The consequence of a refusal: it is final with this error, or the entries wait. */
type RefusalVerdict =
  | { readonly kind: "final"; readonly error: AttemptError }
  | { readonly kind: "hold"; readonly delayMs: number };

/** A held lane is not tried more often than this, however short the backoff is. */
const MIN_PROBE_INTERVAL_MS = 1000;
/** How long other entries wait for the result of the call that tries their lane. */
const PROBE_WAIT_MS = 1000;
/**
 * The first refused request is not retried before this time, because until then other entries may show that the backend
 * takes data.
 */
const FIRST_RETRY_MS = 10_000;
/** After this many refusals in a row, the backend is to blame, not a single entry. */
const REFUSALS_TO_REPORT = 2;
/** The maximum number of lanes remembered while none of their entries are held. */
const MAX_LANES = 1000;

/**
 * A set of entries that a backend may refuse as a whole: those of one signal, and of one batch key where keys are kept
 * apart.
 */
interface Lane {
  readonly key: string;
  readonly signal: Signal;
  /** Refusals in a row, not counting entries that others have overtaken; 0 if the lane is not held. */
  refusals: number;
  /** Start of the hold, by the wall clock (`since`) and by the monotonic clock (`startedAt`). */
  since: number;
  startedAt: number;
  /** Monotonic time of the next probe. */
  nextProbeAt: number;
  probe: QueueItem | undefined;
  error: AttemptError | undefined;
  /** The entries of the refused request, while there has been only one refusal. */
  suspects: readonly QueueItem[];
  /** Number of the last successful call. */
  lastTaken: number;
}

/**
 * Holds entries that a backend refuses as a whole. An expired token or a wrong address is not the data's fault, so
 * entries wait in the queue as they do behind an open breaker, and use up no attempts.
 *
 * After the first refusal, another entry of the lane is sent at once. If the backend takes it, the lane continues, and
 * the refused entry itself is to blame: one call was enough, unless `hold_retries` asks for more. If the other entry is
 * refused too, the lane is held, the log and the status report it, and single entries probe the lane at growing
 * intervals. Entries refused meanwhile are sent again when the hold has ended; if they are refused then, they are to
 * blame.
 */
export class Holds implements SendPolicy {
  private readonly services: HoldsServices;
  private readonly isHoldError: (error: AttemptError) => boolean;
  private readonly backoff: Backoff;
  private readonly holdRetries: number;
  private readonly lanes = new Map<string, Lane>();
  /** Number of calls since the first refusal. */
  private calls = 0;

  constructor(services: HoldsServices) {
    this.services = services;
    const { retry_on_failure } = services.settings;
    this.isHoldError = createHoldRule(retry_on_failure);
    this.holdRetries = retry_on_failure.hold_retries;
    this.backoff = createBackoff({ ...retry_on_failure, jitter: "none" }, () => 0);
  }

  /** The first entry of a call stands for all of them, which are of one lane. */
  blocksGroup(items: readonly QueueItem[]): GroupHold | undefined {
    const lane = this.heldLane(items[0]!);
    if (lane === undefined) return undefined;
    const ms = lane.probe === undefined ? lane.nextProbeAt - this.services.clock.monotonic() : PROBE_WAIT_MS;
    return ms > 0 ? { kind: "hold", ms } : undefined;
  }

  began(items: readonly QueueItem[]): void {
    if (this.lanes.size === 0) return;
    this.calls += 1;
    const item = items[0]!;
    item.callNumber = this.calls;
    const lane = this.heldLane(item);
    if (lane !== undefined) lane.probe ??= item;
  }

  /** Whether the call under way for this item is the probe of its lane. */
  isProbe(item: QueueItem): boolean {
    return this.lanes.get(holdKeyOf(item))?.probe === item;
  }

  ended({ items, result }: CallEnd): void {
    const item = items[0]!;
    const lane = this.lanes.get(holdKeyOf(item));
    if (lane === undefined) return;
    if (lane.probe === item) lane.probe = undefined;
    if (result === "success") this.onSuccess(lane, item);
  }

  /** The backend took the item. Ends the hold of its lane. */
  private onSuccess(lane: Lane, item: QueueItem): void {
    lane.lastTaken = Math.max(lane.lastTaken, item.callNumber ?? 0);
    if (lane.refusals === 0) return;
    const { suspects, error } = lane;
    // A call that began before the refusal does not prove that the backend takes data now.
    if (suspects.some(({ refused }) => refused!.firstAt >= lane.lastTaken)) return;
    this.end(lane);
    if (suspects.length > 0 && this.holdRetries === 0) this.services.onBlamed(suspects, withoutCategory(error!));
  }

  /** To be called when entries that were sent together are refused. */
  onRefusal(items: readonly QueueItem[], error: AttemptError, wasProbe: boolean): RefusalVerdict {
    if (!this.isHoldError(error)) return { kind: "final", error };
    this.services.metrics.refused(error.class);
    const lane = this.laneOf(items[0]!);
    for (const item of items) this.noteRefusal(item, lane);
    const sinceOvertaken = Math.min(...items.map(({ refused }) => refused!.sinceOvertaken));
    // Refused entries wait behind the others of their lane, so that an entry that has not been refused yet tries the
    // lane next.
    const ownDelayMs = this.backoff(Math.max(1, sinceOvertaken), error.retryAfterMs);
    if (lane.refusals === 0 && sinceOvertaken > 0) {
      const isToBlame = sinceOvertaken >= this.holdRetries;
      return isToBlame ? { kind: "final", error: withoutCategory(error) } : { kind: "hold", delayMs: ownDelayMs };
    }
    for (const item of items) item.isHeld = true;
    if (wasProbe || lane.refusals < REFUSALS_TO_REPORT) this.countRefusal(lane, error);
    lane.suspects = lane.refusals === 1 ? items : [];
    if (lane.refusals === 1) return { kind: "hold", delayMs: Math.max(ownDelayMs, FIRST_RETRY_MS) };
    return { kind: "hold", delayMs: Math.max(ownDelayMs, lane.nextProbeAt + 1 - this.services.clock.monotonic()) };
  }

  /** Makes all lanes due for a probe now. */
  retryNow(): void {
    for (const lane of this.lanes.values()) lane.nextProbeAt = Number.NEGATIVE_INFINITY;
  }

  /** Number of held lanes. */
  get count(): number {
    return this.reportedLanes().length;
  }

  /** Whether the backend takes nothing at all. */
  get isDown(): boolean {
    return this.reportedLanes().some(({ startedAt }) => startedAt >= this.services.successes.lastAt);
  }

  /** The signals that are refused at the moment, since when and why. */
  get status(): ExporterStatus["refused"] {
    const lanes = this.reportedLanes();
    const [first] = lanes;
    if (first?.error === undefined) return undefined;
    const { class: errorClass, message } = first.error;
    const signals = [...new Set(lanes.map(({ signal }) => signal))];
    return { since: first.since, signals, class: errorClass, message, advice: adviceOn(errorClass) };
  }

  /** A lane without waiting entries (they expired or were dropped to free space) does not count as held. */
  private reportedLanes(): Lane[] {
    return [...this.lanes.values()].filter((lane) => lane.refusals >= REFUSALS_TO_REPORT && this.hasHeld(lane));
  }

  private hasHeld({ key, probe }: Lane): boolean {
    return probe !== undefined || this.services.hasHeld(key);
  }

  /** While the lane is held it is not known whose fault it is. */
  private noteRefusal(item: QueueItem, { lastTaken, refusals }: Lane): void {
    const { firstAt, sinceOvertaken } = item.refused ?? { firstAt: this.calls, sinceOvertaken: 0 };
    const isOvertaken = refusals === 0 && firstAt < lastTaken;
    item.refused = { firstAt, sinceOvertaken: isOvertaken ? sinceOvertaken + 1 : sinceOvertaken };
  }

  private countRefusal(lane: Lane, error: AttemptError): void {
    const { clock, logger } = this.services;
    lane.refusals += 1;
    lane.error = error;
    const delayMs = Math.max(MIN_PROBE_INTERVAL_MS, this.backoff(lane.refusals - 1, error.retryAfterMs));
    lane.nextProbeAt = clock.monotonic() + (lane.refusals < REFUSALS_TO_REPORT ? 0 : delayMs);
    if (lane.refusals !== REFUSALS_TO_REPORT) return;
    lane.since = clock.now();
    lane.startedAt = clock.monotonic();
    const details = { signal: lane.signal, error: error.class, message: error.message, advice: adviceOn(error.class) };
    logger.error(details, "the backend refuses all data: it waits in the queue until this is fixed");
  }

  private end(lane: Lane): void {
    const { onHoldEnd, logger } = this.services;
    const wasReported = lane.refusals >= REFUSALS_TO_REPORT;
    if (wasReported) logger.info({ signal: lane.signal }, "the backend accepts data again; sending the queue");
    lane.refusals = 0;
    lane.probe = undefined;
    lane.suspects = [];
    onHoldEnd(lane.key, wasReported);
  }

  private heldLane(item: QueueItem): Lane | undefined {
    const lane = this.lanes.get(holdKeyOf(item));
    return lane === undefined || lane.refusals === 0 ? undefined : lane;
  }

  private laneOf(item: QueueItem): Lane {
    const key = holdKeyOf(item);
    let lane = this.lanes.get(key);
    if (lane === undefined) {
      const idle = { refusals: 0, since: 0, startedAt: 0, nextProbeAt: 0, probe: undefined, error: undefined };
      lane = { key, signal: item.entry.signal, ...idle, suspects: [], lastTaken: 0 };
      this.forgetLanes();
      this.lanes.set(key, lane);
      this.services.trouble.set(POLICY.holds, true);
    }
    return lane;
  }

  private forgetLanes(): void {
    if (this.lanes.size < MAX_LANES) return;
    for (const lane of [...this.lanes.values()])
      if (lane.refusals === 0 || !this.hasHeld(lane)) this.lanes.delete(lane.key);
  }
}

/** Without its category the error allows bisection, since perhaps only some of the data is refused. */
function withoutCategory({ category: _, ...error }: AttemptError): AttemptError {
  return error;
}

/** Returns advice for the operator, depending on the status. */
function adviceOn(errorClass: string): string {
  if (/\b407$/.test(errorClass))
    return "the proxy refuses the request: add its user and password to proxy_url, or to the proxy variable of the environment, and restart the agent";
  if (/\b(401|402)$|UNAUTHENTICATED/.test(errorClass))
    return "the credentials are missing, wrong or have expired: renew those under headers or of the extension under auth, and restart the agent if they are in the config";
  if (/\b403$|PERMISSION_DENIED/.test(errorClass))
    return "the credentials are not allowed to write this signal: grant the permission, or use other credentials";
  if (/\b415$/.test(errorClass)) return "the backend does not support this encoding: check encoding and compression";
  return "the endpoint does not accept this signal: check its address, path and scheme";
}
