import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { Batch, type Outcome, Refusal, SIGNALS } from "../../../../src/plugin.js";
import { Dedup } from "../../../../src/runtime/brokers/dedup/dedup.js";
import { GroupKey, type KeyedEntry } from "../../../../src/runtime/contract/calls/group-key.js";
import type { Agent } from "../../../../src/runtime/host/agent.js";
import { decodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { agentOf } from "../../../support/agent.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { startSink } from "../../../support/otlp-sink.js";
import { runs } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, meaning, recordsOf } from "../../../support/telemetry/trees.js";
import { rewritten } from "../../../support/telemetry/wire-forms.js";

const OK: Outcome = { ok: true, rejected: 0, message: "" };
const NO: Outcome = { ok: false, refusal: new Refusal("transient", "no") };

function dedup(own: { max_entries?: number; ttl?: number } = {}) {
  const clock = new FakeClock();
  const duplicates = { count: 0, add: (n: number) => void (duplicates.count += n) };
  return { clock, duplicates, it: new Dedup({ max_entries: 10, ttl: 1000, ...own }, clock, duplicates) };
}

/** Counts how often it is taken. */
function taking(...outcomes: Outcome[]) {
  const take = async () => outcomes[Math.min(take.count++, outcomes.length - 1)]!;
  take.count = 0;
  return take;
}

describe("deduplication", () => {
  it("takes a key once, and answers the second time without taking it", async () => {
    const { it, duplicates } = dedup();
    const take = taking(OK);
    expect([await it.accept("a", logs("r"), take), await it.accept("a", logs("r"), take)]).toEqual([OK, OK]);
    expect([take.count, duplicates.count]).toEqual([1, 1]);
    await it.accept("b", logs("r"), take);
    expect(take.count).toBe(2);
  });

  it.each<[string, Outcome]>([
    ["refused", NO],
    ["rejected in part", { ok: true, rejected: 1, message: "old" }],
  ])("does not remember what was %s", async (_what, first) => {
    const { it } = dedup();
    const take = taking(first, OK);
    expect([await it.accept("a", logs("r"), take), await it.accept("a", logs("r"), take)]).toEqual([first, OK]);
    expect(take.count).toBe(2);
  });

  it("lets a second one wait for the first, and takes it if the first was refused", async () => {
    for (const [first, taken] of [
      [OK, 1],
      [NO, 2],
    ] as const) {
      const { it } = dedup();
      const take = taking(first, OK);
      const outcomes = await Promise.all([
        it.accept("a", logs("r"), take),
        it.accept("a", logs("r"), take),
        it.accept("a", logs("r"), take),
      ]);
      expect(take.count).toBe(taken);
      expect(outcomes.slice(1)).toEqual([OK, OK]);
    }
  });

  it("takes other records although somebody has used their key before, and knows each of them again", async () => {
    const { it, duplicates } = dedup();
    const { taken, take } = takingBodies();
    for (const body of ["hostile", "victim", "victim", "hostile"]) await it.accept("a", logs(body), take);
    await it.accept(keyOf(entry("t-1"), entry("t-2")), logs("x", "y"), take);
    await it.accept(keyOf(entry("t-1"), entry("t-2")), logs("x", "other"), take);
    expect(taken).toEqual([["hostile"], ["victim"], ["x", "y"], ["other"]]);
    expect(duplicates.count).toBe(3);
  });

  it("knows the records of one authenticated client from the same ones of another", async () => {
    const { it } = dedup();
    const take = taking(OK);
    for (const client of ["ann", "bob", "ann", ""]) await it.accept("a", logs("r"), take, client);
    expect(take.count).toBe(3);
  });

  it("does not let a request wait for another one that uses its key", async () => {
    const { it } = dedup();
    const never = new Promise<Outcome>(() => {});
    void it.accept("a", logs("hostile"), () => never);
    expect(await it.accept("a", logs("victim"), taking(OK))).toEqual(OK);
  });

  it("distinguishes large records", async () => {
    const { it } = dedup();
    const take = taking(OK);
    const large = "x".repeat(200_000);
    const requests = [logs(large, "a"), logs(`${large}a`), logs(large, "b"), logs("a", large), logs(large, "a")];
    for (const batch of requests) await it.accept("a", batch, take);
    expect(take.count).toBe(4);
  });

  it("forgets after its time, and the oldest beyond its number", async () => {
    const { it, clock } = dedup({ max_entries: 2 });
    const take = taking(OK);
    for (const key of ["a", "b", "c", "a"]) await it.accept(key, logs("r"), take);
    expect(take.count).toBe(4);
    clock.advance(1000);
    await it.accept("a", logs("r"), take);
    expect(take.count).toBe(5);
  });
});

/** Takes everything, and remembers the records. */
function takingBodies(outcome: Outcome = OK) {
  const taken: string[][] = [];
  const take = async (batch: Batch) => {
    taken.push(bodies(batch));
    return outcome;
  };
  return { taken, take };
}

const keyOf = (...entries: KeyedEntry[]) => {
  const key = new GroupKey();
  for (const entry of entries) expect(key.add(entry)).toBe(true);
  return key.text;
};
const entry = (id: string, items = 1): KeyedEntry => ({ id, items });

describe("deduplication of merged requests", () => {
  it("skips entries that were taken before, in any grouping", async () => {
    const { it, duplicates } = dedup();
    const { taken, take } = takingBodies();
    await it.accept(keyOf(entry("t-1", 2), entry("t-2")), logs("a", "b", "c"), take);
    await it.accept(keyOf(entry("t-2"), entry("t-3", 2), entry("t-1", 2)), logs("c", "d", "e", "a", "b"), take);
    await it.accept("t-3", logs("d", "e"), take);
    await it.accept(keyOf(entry("t-1", 2), entry("t-3", 2)), logs("a", "b", "d", "e"), take);
    expect(taken).toEqual([
      ["a", "b", "c"],
      ["d", "e"],
    ]);
    expect(duplicates.count).toBe(5);
  });

  it("takes all of it again when it was refused", async () => {
    const { it } = dedup();
    const key = keyOf(entry("t-1"), entry("t-2"));
    expect(await it.accept(key, logs("a", "b"), takingBodies(NO).take)).toEqual(NO);
    const { taken, take } = takingBodies();
    await it.accept(key, logs("a", "b"), take);
    expect(taken).toEqual([["a", "b"]]);
  });

  it("takes no entry twice when requests that share some come at the same time", async () => {
    const { it } = dedup({ max_entries: 1000 });
    const { taken, take } = takingBodies();
    const slowly = (batch: Batch) => new Promise(setImmediate).then(() => take(batch));
    const name = (i: number) => entry(`t-${i}`);
    const groups = [[1, 2, 3], [3, 4], [2, 3, 4, 5], [1], [5, 1]];
    await Promise.all(groups.map((ids) => it.accept(keyOf(...ids.map(name)), logs(...ids.map(String)), slowly)));
    expect(taken.flat().sort()).toEqual(["1", "2", "3", "4", "5"]);
  });

  it.each(SIGNALS)("leaves out exactly the records of the %s that were taken before", async (signal) => {
    const part = fc.record({ tree: request(signal), wasTaken: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 2, maxLength: 6 }), fc.integer(), async (parts, seed) => {
        const batches = parts.map(({ tree }) => {
          const odd = { shuffled: true, padded: true, unpacked: true, unknown: true };
          return Batch.admit(signal, rewritten(signal, referenceEncode(signal, tree), odd, seed));
        });
        const named = batches.map((batch, i) => ({ batch, id: `t-${i}`, wasTaken: parts[i]!.wasTaken }));
        const full = named.filter(({ batch }) => batch.count > 0);
        if (full.length === 0) return;
        const { it } = dedup();
        const taken: Batch[] = [];
        const take = async (batch: Batch) => {
          taken.push(batch);
          return OK;
        };
        for (const { batch, id, wasTaken } of full) if (wasTaken) await it.accept(id, batch, take);
        const key = keyOf(...full.map(({ batch, id }) => entry(id, batch.count)));
        await it.accept(key, Batch.merge(full.map(({ batch }) => batch)), take);
        const records = (batches: readonly Batch[]) =>
          batches.flatMap((batch) => recordsOf(signal, decodeTree(batch)).map(({ record }) => meaning(record)));
        const inOrder = [...full.filter(({ wasTaken }) => wasTaken), ...full.filter(({ wasTaken }) => !wasTaken)];
        expectSame(records(taken), records(inOrder.map(({ batch }) => batch)));
      }),
      runs(30),
    );
  });

  it.each(SIGNALS)("names an entry of %s by itself, in whatever company it comes after a crash", async (signal) => {
    const parts = fc.array(fc.record({ tree: request(signal), isFirst: fc.boolean() }), { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(parts, async (list) => {
        const entries = list
          .map(({ tree, isFirst }, i) => {
            const batch = Batch.admit(signal, referenceEncode(signal, tree));
            return { batch, id: `t-${i}`, items: batch.count, isFirst };
          })
          .filter(({ items }) => items > 0);
        const identities = async (groups: readonly (typeof entries)[]) => {
          const names = new Map<string, number>();
          for (const group of groups) {
            const batch = Batch.merge(group.map((each) => each.batch));
            await dedup().it.acceptEach(keyOf(...group), batch, async (fresh, identity) => {
              names.set(identity(), fresh.count);
              return OK;
            });
          }
          return [...names].sort();
        };
        const groups: (typeof entries)[] = [];
        for (const each of entries) {
          if (each.isFirst || groups.length === 0) groups.push([each]);
          else groups.at(-1)!.push(each);
        }
        const alone = await identities(entries.map((each) => [each]));
        expect(await identities(groups)).toEqual(alone);
        expect(alone.length).toBe(entries.length);
      }),
      runs(30),
    );
  });

  it("takes the entries of a message again that were refused, and not those that were taken", async () => {
    const { it } = dedup();
    const key = keyOf(entry("t-1", 2), entry("t-2"));
    const tried: string[][] = [];
    const outcomes = [OK, NO, OK];
    const take = async (batch: Batch) => {
      tried.push(bodies(batch));
      return outcomes[tried.length - 1]!;
    };
    expect(await it.acceptEach(key, logs("a", "b", "c"), take)).toEqual(NO);
    expect(await it.acceptEach(key, logs("a", "b", "c"), take)).toEqual(OK);
    expect(tried).toEqual([["a", "b"], ["c"], ["c"]]);
  });

  it("forgets nothing for a request that names entries without records", async () => {
    const { it } = dedup({ max_entries: 10 });
    const { taken, take } = takingBodies();
    await it.accept("mine-1", logs("a"), take);
    await it.accept("entries;hostile-1+998:0,hostile-1000+0:1", logs("h"), take);
    await it.accept("mine-1", logs("a"), take);
    expect(taken).toEqual([["a"], ["h"]]);
  });

  it("remembers a long key by something short", async () => {
    const { it } = dedup();
    const { taken, take } = takingBodies();
    const long = (end: string) => `${"x".repeat(15_000)}${end}`;
    for (const end of ["1", "2", "1"]) await it.accept(long(end), logs(end), take);
    expect(taken).toEqual([["1"], ["2"]]);
    expect(it["keys"]["acceptedAt"].oldest!.length).toBeLessThan(60);
  });

  it("uses a key that does not fit the records unchanged", async () => {
    const { it } = dedup();
    const { taken, take } = takingBodies();
    const key = keyOf(entry("t-1"), entry("t-2"));
    await it.accept(key, logs("a", "b", "c"), take);
    await it.accept("t-1", logs("a"), take);
    await it.accept(key, logs("a", "b", "c"), take);
    expect(taken).toEqual([["a", "b", "c"], ["a"]]);
  });
});

const KEYED = { "content-type": "application/x-protobuf", "sluice-idempotency-key": "k-1" };

/** A logger that hears where the receiver listens. */
function listening() {
  let address = "";
  const logger = {
    debug() {},
    info(fields: object) {
      if ("http" in fields) address = String(fields.http);
    },
    warn() {},
    error() {},
    child: () => logger,
  };
  return { logger, address: () => address };
}

describe("an OTLP receiver that deduplicates", () => {
  const agents: Agent[] = [];
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.stop(0)));
  });

  it.each([
    ['directory: ""', 1],
    ['enabled: true, directory: ""', 1],
    ["enabled: false", 2],
  ])("with dedup: {%s} takes a request with a known key %i time(s)", async (dedup, times) => {
    const sink = await startSink();
    const { logger, address } = listening();
    const agent = agentOf(
      `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}, dedup: {${dedup}}}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`,
      { logger },
    );
    agents.push(agent);
    await agent.start();
    for (let i = 0; i < 2; i++) {
      const response = await fetch(`http://${address()}/v1/logs`, {
        method: "POST",
        headers: KEYED,
        body: new Uint8Array(logs("a").bytes),
      });
      expect(response.status).toBe(200);
    }
    expect(sink.batches.flatMap(bodies)).toEqual(Array(times).fill("a"));
    await sink.close();
  });

  it("takes the same records with the same key of another authenticated client", async () => {
    const sink = await startSink();
    const { logger, address } = listening();
    const agent = agentOf(
      `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0", auth: {authenticator: bearertokenauth}}}, dedup: {directory: ""}}}
extensions: {bearertokenauth: {tokens: [ann-token, bob-token]}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service: {extensions: [bearertokenauth], pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}}
`,
      { logger },
    );
    agents.push(agent);
    await agent.start();
    for (const token of ["ann-token", "bob-token", "ann-token"]) {
      const response = await fetch(`http://${address()}/v1/logs`, {
        method: "POST",
        headers: { ...KEYED, authorization: `Bearer ${token}` },
        body: new Uint8Array(logs("a").bytes),
      });
      expect(response.status).toBe(200);
    }
    expect(sink.batches.flatMap(bodies)).toEqual(["a", "a"]);
    await sink.close();
  });
});
