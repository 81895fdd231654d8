import type { Clock } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { Note, NoteNumber, QueueStore } from "../store/store.js";
import type { Breaker } from "./breaker.js";
import { type CallEnd, POLICY, type SendPolicy, type Trouble } from "./policy.js";
import type { Successes } from "./recent-calls.js";

/** The state of a backend that its queue remembers across restarts. All times are wall-clock times. */
interface BackendState {
  /** Time since when the backend fails; undefined if the last call succeeded or nothing is known. */
  readonly failingSince?: number | undefined;
  /** The error of the last call that failed, while the backend fails or its breaker is open. */
  readonly error?: AttemptError | undefined;
  /** Failures in a row that the closed circuit breaker has counted. */
  readonly failures?: number | undefined;
  /** Set while the circuit breaker is not closed. */
  readonly breaker?: { readonly openSince: number } | undefined;
  /** Entries per second that the backend took before it failed; undefined while it works. */
  readonly successRate?: number | undefined;
}

/** The state as stored, with the time at which it was written. */
interface StoredState extends BackendState {
  readonly at: number;
}

interface BackendMemoryServices {
  readonly store: Pick<QueueStore, "notes">;
  readonly clock: Clock;
  readonly trouble: Trouble;
  readonly breaker: Breaker;
  readonly successes: Successes;
}

const OWNER = "backend";
/** Changes that are not urgent are written together, at most once per interval. */
const WRITE_INTERVAL_MS = 1000;

/**
 * Keeps what is known about the backend in the queue's store: whether it was failing when the agent stopped, and the
 * state of the circuit breaker. This is one note of a few hundred bytes, and none while the backend works.
 *
 * Only changes are written (the first failure, the first success, a change of the breaker), never single calls. The
 * write rides along with the next commit of the queue. An agent that is killed before then remembers the state before
 * the change. That is safe: attempts do not depend on this state, so a forgotten outage costs a few calls and never an
 * entry.
 */
export class BackendMemory implements SendPolicy {
  private readonly services: BackendMemoryServices;
  private state: BackendState = {};
  private isDirty = false;
  private note: NoteNumber | undefined;
  private cancelWrite: (() => void) | undefined;

  constructor(services: BackendMemoryServices) {
    this.services = services;
  }

  /** The current state. */
  get known(): BackendState {
    return this.state;
  }

  /**
   * Loads the state that an earlier run left. To be called once, when the store is open. If the store cannot be read,
   * nothing is known.
   */
  async load(): Promise<void> {
    const notes = (await this.services.store.notes?.load().catch(() => [])) ?? [];
    const own = notes.filter(({ owner }) => owner === OWNER);
    const read = own.map((note) => ({ note, stored: decode(note) })).sort((a, b) => b.stored.at - a.stored.at);
    const [newest, ...older] = read;
    this.services.store.notes?.remove(older.map(({ note }) => note.number));
    if (newest === undefined) return;
    const { at: _, ...state } = newest.stored;
    this.note = newest.note.number;
    this.setState(state);
  }

  /** Changes the state. The change is written within a second, or with the next commit if it is urgent. */
  update(changes: BackendState, { isUrgent = false } = {}): void {
    this.setState({ ...this.state, ...changes });
    this.isDirty = true;
    if (isUrgent) this.write();
    else this.cancelWrite ??= this.services.clock.after(WRITE_INTERVAL_MS, () => this.write());
  }

  ended({ result, error }: CallEnd): void {
    if (result === "success") this.noteSuccess();
    if (error?.blame === "backend") this.noteFailure(error);
  }

  /** Writes pending changes. To be called before the store is closed. */
  flush(): void {
    if (this.isDirty) this.write();
  }

  private noteFailure(error: AttemptError): void {
    const { failingSince, successRate = this.services.successes.rate } = this.state;
    if (failingSince === undefined) this.update({ failingSince: this.services.clock.now(), error, successRate });
  }

  private noteSuccess(): void {
    const { failingSince, successRate } = this.state;
    if (failingSince === undefined) return;
    const cleared = { failingSince: undefined, error: undefined, failures: 0 };
    this.update({ ...cleared, successRate: this.services.breaker.state === "closed" ? undefined : successRate });
  }

  private setState(state: BackendState): void {
    this.state = state;
    this.services.trouble.set(POLICY.memory, state.failingSince !== undefined);
  }

  private write(): void {
    this.cancelWrite?.();
    this.cancelWrite = undefined;
    this.isDirty = false;
    const { store, clock } = this.services;
    const previous = this.note;
    const bytes = isWorthKeeping(this.state) ? encode({ ...this.state, at: clock.now() }) : undefined;
    this.note = bytes && store.notes?.add({ owner: OWNER, after: 0, bytes });
    if (previous !== undefined) store.notes?.remove([previous]);
  }
}

function isWorthKeeping({ failingSince, breaker, failures = 0, successRate }: BackendState): boolean {
  return failingSince !== undefined || breaker !== undefined || failures > 0 || successRate !== undefined;
}

function encode(state: StoredState): Uint8Array {
  return Buffer.from(JSON.stringify(state));
}

/** The store has already verified the checksum of the bytes. */
function decode({ bytes }: Note): StoredState {
  return JSON.parse(Buffer.from(bytes).toString()) as StoredState;
}
