import { deepStrictEqual } from "node:assert";
import { inspect, isDeepStrictEqual } from "node:util";
import type { AttemptError, Entry, Failure } from "#contract/operations";
import type { NewEntry, QueueStore, StoredEntry } from "#queue/store";
import { assertionError, check, eventually } from "../eventually.js";
import { logs, plainRecords } from "../plain-records.js";

/** Creates stores of one kind for the suite. */
export interface TestStorage {
  /** Creates a new, empty store for this exporter; the suite opens it. */
  create(exporter: string): Promise<QueueStore> | QueueStore;
  /** Returns a store with the data of `closed`, not opened yet; default: `closed` itself. */
  reopen?(closed: QueueStore): Promise<QueueStore> | QueueStore;
  /** Deletes all files of the stores. */
  remove?(): Promise<void> | void;
}

/** The exporter of all tested stores. */
export const TEST_EXPORTER = "otlp_http/test";

export type StorageCases = Readonly<Record<string, (bench: StorageHarness) => Promise<void>>>;

/** An entry for each of these texts. */
type EntriesOf<T extends readonly string[]> = { [K in keyof T]: StoredEntry };

/** An open store, with shortcuts to fill it and look inside. */
export class StorageHarness {
  private readonly storage: TestStorage;
  private readonly patienceMs: number;
  private current: QueueStore;

  private constructor(storage: TestStorage, store: QueueStore, patienceMs: number) {
    this.storage = storage;
    this.current = store;
    this.patienceMs = patienceMs;
  }

  static async open(storage: TestStorage, patienceMs: number): Promise<StorageHarness> {
    const store = await storage.create(TEST_EXPORTER);
    await store.open();
    return new StorageHarness(storage, store, patienceMs);
  }

  get store(): QueueStore {
    return this.current;
  }

  async reopen(): Promise<void> {
    await this.current.close();
    this.current = (await this.storage.reopen?.(this.current)) ?? this.current;
    await this.current.open();
  }

  async close(): Promise<void> {
    await this.current.close();
    await this.storage.remove?.();
  }

  /** Puts an entry for each text. */
  putAll<T extends string[]>(...texts: T): Promise<EntriesOf<T>> {
    return Promise.all(texts.map((text) => this.current.put(newEntry(text)))) as Promise<EntriesOf<T>>;
  }

  async failAll<T extends string[]>(...texts: T): Promise<EntriesOf<T>> {
    const put = await this.putAll(...texts);
    for (const { ref, entry } of put) await this.current.fail(ref, failedEntry(entry));
    return put;
  }

  async pendingTexts(): Promise<string[]> {
    return this.textsOf(await this.current.pending(undefined, 1000));
  }

  async failedTexts(): Promise<string[]> {
    return this.textsOf(await this.current.failed(undefined, 1000, "oldest"));
  }

  textsOf(found: readonly StoredEntry[]): Promise<string[]> {
    return Promise.all(
      found.map(async ({ ref }) => {
        const records = plainRecords(await this.current.payload(ref));
        return records.map(({ body }) => String(body)).join("+");
      }),
    );
  }

  eventually(condition: () => boolean, message: string): Promise<void> {
    return eventually(condition, message, this.patienceMs);
  }
}

/** A new entry whose records have these texts as bodies. */
export function newEntry(...bodies: string[]): NewEntry {
  return {
    batch: logs(...bodies),
    pipeline: "logs",
    source: { receiver: "otlp", transport: "http" },
    enqueuedAt: 1_700_000_000_000,
    generation: "1",
  };
}

const error: AttemptError = { kind: "permanent", class: "HTTP 400", message: "bad", code: "HTTP_400" };

export const FAILURE: Failure = {
  at: 1_700_000_000_500,
  reason: "permanent",
  category: "schema",
  error,
  signature: "abc",
  names: ["order"],
  traceIds: [],
  schemaUrls: [],
};

/** `entry` as a dead letter. */
export function failedEntry(entry: Entry): Entry {
  return { ...entry, state: "failed", attempts: 3, calls: 4, lastError: error, failure: FAILURE };
}

/** Fails, and shows the difference, unless both are deeply equal. */
export function assertEqual(actual: unknown, expected: unknown): void {
  deepStrictEqual(actual, expected);
}

/** Fails unless `actual` contains everything in `expected`; it may have more. */
export function assertMatches(actual: unknown, expected: unknown): void {
  check(includesAll(actual, expected), () => `expected ${inspect(expected)} in ${inspect(actual, { depth: 4 })}`);
}

/** Fails unless the promise rejects with an error that has this `code`. */
export async function assertRejects(work: Promise<unknown>, code: string): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason ?? assertionError("rejected with nothing"),
  );
  check(error !== undefined, `expected an error with the code "${code}", and there was none`);
  const actual = (error as { code?: unknown }).code;
  check(actual === code, `expected an error with the code "${code}", got ${inspect(error)}`);
}

function includesAll(actual: unknown, expected: unknown): boolean {
  if (typeof expected !== "object" || expected === null || Array.isArray(expected))
    return isDeepStrictEqual(actual, expected);
  if (typeof actual !== "object" || actual === null) return false;
  return Object.entries(expected).every(([key, value]) => includesAll((actual as Record<string, unknown>)[key], value));
}
