import { describe, expect, it } from "vitest";
import type { Batch } from "../../../../src/plugin.js";
import type { Entry } from "../../../../src/runtime/contract/operations/entry.js";
import {
  type EntryRef,
  MemoryStore,
  type NewEntry,
  NoopStore,
  type QueueStore,
  type StoredEntry,
  StoreError,
  storageConformance,
} from "../../../../src/testing.js";
import { CONDITION_LIMIT_MS } from "../../../support/limits.js";
import { failuresOf } from "./outcomes.js";

const failures = (create: (exporter: string) => QueueStore, patienceMs = 50) =>
  failuresOf(storageConformance(() => ({ create }), { patienceMs }));

describe("the conformance suite for stores", () => {
  it("has nothing against a store that keeps its promises", async () => {
    expect(await failures((exporter) => new MemoryStore({ exporter }), CONDITION_LIMIT_MS)).toEqual({});
  });

  it("finds a store that keeps nothing", async () => {
    const found = await failures((exporter) => new NoopStore({ exporter }));
    expect(Object.keys(found).length).toBeGreaterThan(15);
  });

  it("finds a store that forgets what it holds when it is opened again", async () => {
    class Forgetful extends MemoryStore {
      private readonly exporter_: string;
      private inner: MemoryStore;
      constructor(exporter: string) {
        super({ exporter });
        this.exporter_ = exporter;
        this.inner = new MemoryStore({ exporter });
      }
      override open() {
        this.inner = new MemoryStore({ exporter: this.exporter_ });
        return this.inner.open();
      }
      override close = () => this.inner.close();
      override put = (entry: NewEntry) => this.inner.put(entry);
      override pending = (after: EntryRef | undefined, limit: number) => this.inner.pending(after, limit);
      override payload = (ref: EntryRef) => this.inner.payload(ref);
    }
    const found = await failures((exporter) => new Forgetful(exporter));
    expect(found).toHaveProperty(["gives back what it was given, in order, also after reopening"]);
  });

  it("finds a store that brings acknowledged entries back", async () => {
    class Undead extends MemoryStore {
      override ack(): void {}
    }
    const found = await failures((exporter) => new Undead({ exporter }));
    expect(found).toHaveProperty(["forgets what is acknowledged, at once and for good"]);
  });

  it("finds a store that gives an entry twice", async () => {
    class Stuttering extends MemoryStore {
      override async pending(after: EntryRef | undefined, limit: number): Promise<StoredEntry[]> {
        const found = await super.pending(after, limit);
        return found.length === limit ? [...found.slice(0, -1), found[0]!] : found;
      }
    }
    const found = await failures((exporter) => new Stuttering({ exporter }));
    expect(found).toHaveProperty(["pages through what is pending"]);
  });

  it("detects a store whose state changes are not atomic", async () => {
    class Hasty extends MemoryStore {
      override async replay(changes: readonly { readonly ref: EntryRef; readonly entry: Entry }[]) {
        const back: StoredEntry[] = [];
        for (const change of changes) back.push(...(await super.replay([change])));
        return back;
      }
    }
    const found = await failures((exporter) => new Hasty({ exporter }), CONDITION_LIMIT_MS);
    expect(Object.keys(found)).toEqual(["changes nothing when one of several dead letters to replay is not there"]);
  });

  it("finds a store that answers when it is closed, or with another error than it should", async () => {
    class Careless extends MemoryStore {
      override async payload(ref: EntryRef): Promise<Batch> {
        return super.payload(ref).catch(() => {
          throw new StoreError("io", "no");
        });
      }
    }
    const found = await failures((exporter) => new Careless({ exporter }));
    expect(found["says not_found for entries that are not there"]).toContain(
      'expected an error with the code "not_found"',
    );
    expect(found["refuses everything once it is closed"]).toContain('expected an error with the code "closed"');
  });
});
