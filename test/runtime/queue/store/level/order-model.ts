import { expect } from "vitest";
import type { LevelStore } from "../../../../../src/runtime/queue/store/level-store.js";
import type { EntryRef, NewEntry, StoredEntry } from "../../../../../src/runtime/queue/store/store.js";
import { bodies } from "../../../../support/telemetry/batches.js";
import { failedEntry, newEntry } from "../entries.js";

/**
 * What an entry may look like: its state and the number of the call that made it so (kept in `attempts`); "gone" if it
 * is not there.
 */
type Look = "gone" | `${"pending" | "failed"} ${number}`;

/** One call that concerns an entry, in the order of the calls. */
interface Call {
  /** The look after the call, given the one before. */
  readonly apply: (before: Look) => Look;
  /** `lazy` calls are written some time; of the others the promise tells. An `unknown` one may have been written. */
  outcome: "lazy" | "waiting" | "written" | "unknown";
}

const isWritten = ({ outcome }: Call) => outcome === "written";
const isUnknown = ({ outcome }: Call) => outcome === "unknown";

/** An entry by its text, which stays whatever happens to its id and ref. */
class ModelEntry {
  /** The looks that it may have before the calls. */
  start: ReadonlySet<Look> = new Set<Look>(["gone"]);
  calls: Call[] = [];
  /** Where the store has it; undefined while that is not known. */
  stored: StoredEntry | undefined;

  /** The looks after the first calls, as many as given. Some of them may be left out. */
  looksAfter(count: number, mayBeLeft = isUnknown): ReadonlySet<Look> {
    let looks = this.start;
    for (const call of this.calls.slice(0, count)) {
      const isSure = !mayBeLeft(call);
      looks = new Set([...looks].flatMap((look) => (isSure ? [call.apply(look)] : [look, call.apply(look)])));
    }
    return looks;
  }

  /** The number of calls that are certainly written, with all before them. */
  get written(): number {
    return this.calls.findLastIndex(({ outcome }) => outcome === "written") + 1;
  }

  /** All looks from this number of calls on: what a crash may leave, or a read that began then may see. */
  looksFrom(count: number, mayBeLeft = isUnknown): ReadonlySet<Look> {
    const looks = new Set<Look>();
    for (let n = count; n <= this.calls.length; n++) for (const look of this.looksAfter(n, mayBeLeft)) looks.add(look);
    return looks;
  }

  /** What a process leaves that is killed now: its calls end no more. */
  killed(): void {
    this.calls = this.calls.map((call) => ({ ...call }));
    this.stored = undefined;
  }
}

/**
 * A log of calls for each entry, and the real store beside it. For one entry, the order of calls is the order of writes:
 * so what is found later is what the calls make of the entry, one after the other, up to some call behind the last one
 * that was certainly written.
 */
export class OrderModel {
  private store!: LevelStore;
  readonly entries = new Map<string, ModelEntry>();
  private readonly promises: Promise<unknown>[] = [];
  /** Dead letters as a watcher of the store knows them; undefined if it has to read them again. */
  private watched: Map<EntryRef, Look> | undefined;
  private texts = 0;
  private versions = 0;

  put(): void {
    const [text, fresh] = this.fresh();
    const call: Call = { apply: () => "pending 0", outcome: "waiting" };
    const entry = this.add(text, call);
    this.await(call, this.store.put(fresh), (stored) => {
      entry.stored = stored;
    });
  }

  ack(n: number): void {
    this.change(n, "pending", (entry, { ref }) => {
      entry.calls.push({ apply: () => "gone", outcome: "lazy" });
      this.store.ack(ref);
    });
  }

  /** `state` is the state that the caller thinks the entry has. */
  update(n: number, state: "pending" | "failed"): void {
    this.change(n, undefined, (entry, { ref, entry: before }) => {
      const version = ++this.versions;
      const look: Look = `${state} ${version}`;
      entry.calls.push({ apply: (now) => (now.startsWith(state) ? look : now), outcome: "lazy" });
      const updated = state === "failed" ? failedEntry(before) : pendingEntry(before);
      this.store.update(ref, { ...updated, attempts: version });
    });
  }

  fail(n: number): void {
    this.change(n, undefined, (entry, { ref, entry: before }) => {
      const version = ++this.versions;
      const look: Look = `failed ${version}`;
      const call: Call = { apply: (now) => (now === "gone" ? now : look), outcome: "waiting" };
      entry.calls.push(call);
      this.await(call, this.store.fail(ref, { ...failedEntry(before), attempts: version }));
    });
  }

  remove(n: number): void {
    this.change(n, undefined, (entry, { ref }) => {
      const call: Call = { apply: () => "gone", outcome: "waiting" };
      entry.calls.push(call);
      this.await(call, this.store.delete([ref]));
    });
  }

  /** Replaces an entry by two others. */
  replace(n: number): void {
    this.change(n, "pending", (entry, { ref }) => {
      const call: Call = { apply: () => "gone", outcome: "waiting" };
      entry.calls.push(call);
      const parts = [this.fresh(), this.fresh()];
      const calls = parts.map((): Call => ({ apply: () => "pending 0", outcome: "waiting" }));
      const added = parts.map(([text], i) => this.add(text, calls[i]!));
      const replaced = this.store.replace(
        ref,
        parts.map(([, fresh]) => fresh),
      );
      this.await(
        call,
        replaced,
        (stored) => {
          for (const [i, one] of stored.entries()) {
            added[i]!.stored = one;
            calls[i]!.outcome = "written";
          }
        },
        calls,
      );
    });
  }

  /** Nothing else is called for the entry before its new place is known. */
  replay(n: number): void {
    this.change(n, "failed", (entry, { ref, entry: before }) => {
      const version = ++this.versions;
      const look: Look = `pending ${version}`;
      const call: Call = { apply: (now) => (now.startsWith("failed") ? look : now), outcome: "waiting" };
      entry.calls.push(call);
      entry.stored = undefined;
      this.await(
        call,
        this.store.replay([{ ref, entry: { ...pendingEntry(before), attempts: version } }]),
        ([stored]) => {
          entry.stored = stored;
        },
      );
    });
  }

  /** Reads while other things happen. What it finds is not older than what was written when it began. */
  read(): void {
    const since = new Map([...this.entries].map(([text, entry]) => [text, entry.written]));
    const written = new Set([...this.entries.values()].flatMap(({ calls }) => calls).filter(isWritten));
    // An update shows at once, also if it is called behind another change that was not written when the read began.
    const mayBeLeft = (call: Call) => call.outcome !== "lazy" && !written.has(call);
    const check = async () => {
      for (const [text, look] of await this.looks()) {
        const allowed = this.entries.get(text)?.looksFrom(since.get(text) ?? 0, mayBeLeft);
        if (!allowed?.has(look))
          throw new Error(`a read found ${text} ${look}, not ${[...(allowed ?? [])].join(" or ")}`);
      }
    };
    this.remember(check());
  }

  /** Resolves when all calls have ended and everything that was called is written. */
  async settle(): Promise<void> {
    await this.store.put(newEntry("settled")).then(({ ref }) => this.store.delete([ref]));
    await Promise.all(this.promises.splice(0));
  }

  /** The process is killed: nothing that ends from now on counts. Returns when the old store has ended. */
  async kill(end: () => Promise<void>): Promise<void> {
    for (const entry of this.entries.values()) entry.killed();
    await end();
    await Promise.allSettled(this.promises.splice(0));
  }

  /** Follows a store that has just been opened. */
  async follow(store: LevelStore): Promise<void> {
    this.store = store;
    const dead = await store.failed(undefined, 1e6, "oldest");
    this.watched = new Map(dead.map(({ ref, entry }) => [ref, lookOf(entry)]));
    store.watchFailed({
      changed: (ref, entry) => {
        if (entry === undefined) this.watched?.delete(ref);
        else this.watched?.set(ref, lookOf(entry));
      },
      reset: () => {
        this.watched = undefined;
      },
    });
  }

  /** To be called when everything is written: all entries look as the calls made them, wherever one looks. */
  async expectSettled(): Promise<void> {
    await this.expectLooks((entry) => entry.looksAfter(entry.calls.length));
  }

  /** To be called after a crash. From here on, what was found counts. */
  async expectAfterCrash(): Promise<void> {
    await this.expectLooks((entry) => entry.looksFrom(entry.written));
  }

  private async expectLooks(allowed: (entry: ModelEntry) => ReadonlySet<Look>): Promise<void> {
    const found = await this.list();
    for (const [text, entry] of this.entries) {
      const stored = found.get(text);
      const look = stored === undefined ? "gone" : lookOf(stored.entry);
      const looks = allowed(entry);
      if (!looks.has(look)) throw new Error(`${text} is ${look}, not ${[...looks].join(" or ")}`);
      entry.start = new Set([look]);
      entry.calls = [];
      entry.stored = stored;
    }
    for (const text of found.keys()) if (!this.entries.has(text)) throw new Error(`${text} was never put`);
    const dead = [...found.values()].filter(({ entry }) => entry.state === "failed");
    const looks = new Map(dead.map(({ ref, entry }) => [ref, lookOf(entry)]));
    expect(this.watched ?? looks).toEqual(looks);
    const { pending, failed } = this.store.stats;
    expect([pending.entries, failed.entries]).toEqual([found.size - dead.length, dead.length]);
  }

  /** Reads everything. */
  private async looks(): Promise<Map<string, Look>> {
    return new Map([...(await this.list())].map(([text, { entry }]) => [text, lookOf(entry)]));
  }

  private async list(): Promise<Map<string, StoredEntry>> {
    const found = new Map<string, StoredEntry>();
    const lists = [await this.store.pending(undefined, 1e6), await this.store.failed(undefined, 1e6, "newest")];
    for (const stored of lists.flat()) {
      const batch = await this.store.payload(stored.ref).catch(() => undefined);
      if (batch === undefined) continue; // it has ended since it was listed
      const text = String(bodies(batch)[0]);
      if (text === "settled") continue;
      checkDeadLetter(text, stored);
      found.set(text, stored);
    }
    return found;
  }

  private fresh(): [string, NewEntry] {
    const text = `text ${++this.texts}`;
    return [text, newEntry(text)];
  }

  private add(text: string, call: Call): ModelEntry {
    const entry = new ModelEntry();
    entry.calls.push(call);
    this.entries.set(text, entry);
    return entry;
  }

  /** Chooses an entry that the calls have left in this state, or in any, if all of them are written. */
  private change(
    n: number,
    state: "pending" | "failed" | undefined,
    work: (entry: ModelEntry, stored: StoredEntry) => void,
  ): void {
    const candidates = [...this.entries.values()].filter((entry) => {
      const looks = [...entry.looksAfter(entry.calls.length)];
      return entry.stored !== undefined && looks.every((look) => look !== "gone" && look.startsWith(state ?? ""));
    });
    const chosen = candidates[n % candidates.length];
    if (chosen !== undefined) work(chosen, chosen.stored!);
  }

  private await<T>(
    call: Call,
    promise: Promise<T>,
    onWritten: (result: T) => void = () => {},
    others: readonly Call[] = [],
  ): void {
    const ended = promise.then(
      (result) => {
        call.outcome = "written";
        onWritten(result);
      },
      (error: { code?: string }) => {
        // What is not there was not changed, and that is written.
        for (const each of [call, ...others]) each.outcome = "unknown";
        if (error.code !== "io" && error.code !== "not_found" && error.code !== "closed") throw error;
      },
    );
    this.remember(ended);
  }

  /** Its error, if it has one, is found when everything is settled. */
  private remember(promise: Promise<unknown>): void {
    promise.catch(() => {});
    this.promises.push(promise);
  }
}

function pendingEntry({ failure: _, ...entry }: StoredEntry["entry"]): StoredEntry["entry"] {
  return { ...entry, state: "pending" };
}

function lookOf({ state, attempts }: StoredEntry["entry"]): Look {
  return `${state === "failed" ? "failed" : "pending"} ${attempts}`;
}

function checkDeadLetter(text: string, { entry }: StoredEntry): void {
  if ((entry.state === "failed") !== (entry.failure !== undefined))
    throw new Error(`${text} is ${entry.state} ${entry.failure === undefined ? "without" : "with"} a failure`);
}
