import { describe, expect, it } from "vitest";
import { type Batch, defineExporter, type Exporter, Refusal } from "../../../../src/plugin.js";
import { type BackendAnswer, exporterConformance } from "../../../../src/testing.js";
import { CONDITION_LIMIT_MS } from "../../../support/limits.js";
import { failuresOf } from "./outcomes.js";

const ONCE = "delivers every record once, with many sends at the same time (logs)";
const SHUTDOWN = "loses nothing and sends nothing twice, whatever is answered and whenever it is stopped (logs)";
const ABORT = "gives up when it is told to (logs)";
const RETRY = "says whether it makes sense to try again (logs)";
const AGAIN = "can be stopped twice, without a start, and be started again (logs)";

/** A backend in memory. */
class Backend {
  readonly batches: Batch[] = [];
  private how: () => BackendAnswer = () => "take";
  readonly config = {};
  taken = () => this.batches;
  answer = (how: () => BackendAnswer) => {
    this.how = how;
  };

  async request(batch: Batch, abort?: AbortSignal): Promise<void> {
    const answer = this.how();
    await new Promise((resolve) => setImmediate(resolve));
    if (answer === "transient") throw new Error("not now");
    if (answer === "permanent") throw new Refusal("permanent", "not ever");
    if (abort?.aborted) throw abort.reason;
    if (answer === "hang")
      await new Promise((_resolve, reject) => abort?.addEventListener("abort", () => reject(abort.reason)));
    this.batches.push(batch);
  }
}

/** Returns the failing cases of an exporter to a backend in memory. */
function failures(
  make: (backend: Backend) => Exporter,
  patienceMs = 4000,
  isLookedAt: (name: string) => boolean = () => true,
): Promise<Record<string, string>> {
  let current = new Backend();
  const factory = defineExporter({ type: "tried", signals: ["logs"], create: () => make(current) });
  const backend = () => {
    current = new Backend();
    return current;
  };
  return failuresOf(
    exporterConformance(factory, { backend, seed: 5, patienceMs }).filter(({ name }) => isLookedAt(name)),
  );
}

const good =
  (backend: Backend): Exporter["send"] =>
  async (batch, abort) => {
    if (abort.aborted) throw abort.reason;
    await backend.request(batch, abort);
    return undefined;
  };

// Most of the time is spent on waiting for what does not come, which can be done for all of them at once.
describe.concurrent("the conformance suite for exporters", () => {
  it("has nothing against an exporter that keeps to the contract", async () => {
    expect(await failures((backend) => ({ send: good(backend) }), CONDITION_LIMIT_MS)).toEqual({});
  });

  it("takes an exporter that answers at once, or throws, as the runtime does", async () => {
    const factory = defineExporter({
      type: "tried",
      signals: ["logs"],
      create: () => ({
        send(_batch, abort) {
          abort.throwIfAborted();
          return undefined as never;
        },
      }),
    });
    expect(
      await failuresOf(
        exporterConformance(factory, { backend: () => ({ config: {} }), patienceMs: CONDITION_LIMIT_MS }),
      ),
    ).toEqual({});
  });

  it("finds an exporter that loses batches", async () => {
    let count = 0;
    const lossy = (backend: Backend): Exporter => ({
      send: async (batch, abort) => (count++ % 4 === 0 ? undefined : good(backend)(batch, abort)),
    });
    const found = await failures(lossy, 4000, (name) => name === ONCE || name === SHUTDOWN);
    expect(found[ONCE]).toMatch(/records were called sent and did not arrive, such as r\d+/);
    expect(found[SHUTDOWN]).toMatch(/records were accepted and are nowhere/);
  });

  it("finds an exporter that swallows errors", async () => {
    const found = await failures((backend) => ({
      send: (batch, abort) => good(backend)(batch, abort).catch(() => undefined),
    }));
    expect(found[RETRY]).toBe("the backend's transient refusal was taken for success");
    expect(found[SHUTDOWN]).toMatch(/records were accepted and are nowhere/);
  });

  it("finds an exporter that sends twice", async () => {
    const found = await failures((backend) => ({
      async send(batch, abort) {
        await good(backend)(batch, abort);
        return good(backend)(batch, abort);
      },
    }));
    expect(found[ONCE]).toMatch(/^record r\d+ arrived at the backend more than once/);
    expect(found[SHUTDOWN]).toMatch(/arrived at the backend more than once/);
  });

  it("finds an exporter that fails after the backend took it", async () => {
    let count = 0;
    const found = await failures((backend) => ({
      async send(batch, abort) {
        await good(backend)(batch, abort);
        if (count++ % 5 === 4) throw new Error("late");
        return undefined;
      },
    }));
    expect(found[SHUTDOWN]).toMatch(/arrived at the backend more than once/);
  });

  it("finds an exporter that never settles, or ignores the abort", async () => {
    const silent = await failures(
      () => ({ send: () => new Promise(() => {}) }),
      2000,
      (name) => name === ONCE,
    );
    expect(silent[ONCE]).toBe("sends did not end");
    const deaf = await failures(
      (backend) => ({
        async send(batch) {
          await backend.request(batch);
          return undefined;
        },
      }),
      2000,
      (name) => name === ABORT,
    );
    expect(deaf[ABORT]).toBe("the abort of a send to a silent backend did not end the send");
  });

  it("finds an exporter that calls permanent what is not, and the other way round", async () => {
    const found = await failures((backend) => ({
      send: (batch, abort) =>
        good(backend)(batch, abort).catch((error) => {
          throw new Refusal("permanent", error.message);
        }),
    }));
    expect(found[RETRY]).toBe("a transient refusal of the backend came out as permanent: not now");
    const hopeful = await failures((backend) => ({
      send: (batch, abort) =>
        good(backend)(batch, abort).catch((error) => {
          throw new Error(error.message);
        }),
    }));
    expect(hopeful[RETRY]).toBe("a permanent refusal of the backend came out as transient: not ever");
  });

  it("finds an exporter that cannot be stopped, or not twice", async () => {
    const stop = () => new Promise<void>(() => {});
    const stuck = await failures(
      (backend) => ({ send: good(backend), stop }),
      2000,
      (name) => name === AGAIN,
    );
    expect(stuck[AGAIN]).toBe("stop did not end");
    const fragile = await failures((backend) => {
      let isOpen = true;
      return {
        send: good(backend),
        async stop() {
          if (!isOpen) throw new Error("is closed");
          isOpen = false;
        },
      };
    }, CONDITION_LIMIT_MS);
    expect(fragile).toEqual({ [AGAIN]: "is closed" });
  });

  it("finds an exporter that writes into what it sends", async () => {
    const found = await failures((backend) => ({
      async send(batch, abort) {
        const text = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.byteLength);
        text[text.indexOf("body of")] = 0x42;
        return good(backend)(batch, abort);
      },
    }));
    expect(found["does not write into the bytes it is given (logs)"]).toMatch(/^it wrote into the bytes/);
  });
});
