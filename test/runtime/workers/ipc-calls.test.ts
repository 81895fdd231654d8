import { MessageChannel } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { AdminError } from "../../../src/runtime/contract/operations/door.js";
import { answerCalls, IpcCalls, type LinkEnd } from "../../../src/runtime/workers/link/ipc-calls.js";
import type { RemoteMethods } from "../../../src/runtime/workers/link/remote-calls.js";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A parent's calls to a worker with these methods; messages are copied as between processes. */
function linked(methods: RemoteMethods) {
  const { port1, port2 } = new MessageChannel();
  const endOf = (port: typeof port1): LinkEnd => ({
    send: (message) => port.postMessage(message),
    onMessage: (listener) => void port.on("message", listener),
    onGone: (listener) => void port.on("close", listener),
  });
  answerCalls(endOf(port2), methods);
  const close = () => port2.close();
  closers.push(close);
  return { calls: new IpcCalls(endOf(port1), 3), close };
}

describe("calls to a worker", () => {
  it("answers each call with its own result", async () => {
    const { calls } = linked({ double: async (value: number) => value * 2 });
    const asked = Array.from({ length: 50 }, (_, index) => calls.call("double", index));
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 50 }, (_, index) => index * 2));
  });

  it("rejects with the worker's error, and an AdminError stays one", async () => {
    const { calls } = linked({
      refuse: () => {
        throw new AdminError("conflict", "in use");
      },
      fail: async () => {
        throw new RangeError("too far");
      },
    });
    await expect(calls.call("refuse")).rejects.toMatchObject({ name: "AdminError", code: "conflict" });
    await expect(calls.call("fail")).rejects.toMatchObject({ name: "RangeError", message: "too far" });
    await expect(calls.call("toString")).rejects.toThrow("no method");
  });

  it("rejects open and later calls when the worker ends", async () => {
    const { calls, close } = linked({ wait: () => new Promise(() => {}) });
    const open = calls.call("wait");
    close();
    await expect(open).rejects.toMatchObject({ name: "WorkerGoneError", worker: 3 });
    await expect(calls.call("wait")).rejects.toMatchObject({ name: "WorkerGoneError" });
  });

  it("gives the values of a stream one by one, only as they are asked for", async () => {
    let made = 0;
    const { calls } = linked({
      async *count(to: number) {
        for (; made < to; made++) yield made;
      },
    });
    const got: unknown[] = [];
    for await (const value of calls.stream("count", 1000)) {
      got.push(value);
      if (got.length === 5) break;
    }
    expect(got).toEqual([0, 1, 2, 3, 4]);
    expect(made).toBeLessThan(7);
  });

  it("ends the worker's stream when the reader stops", async () => {
    let ended: () => void = () => {};
    const hasEnded = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const { calls } = linked({
      async *endless() {
        try {
          for (;;) yield 1;
        } finally {
          ended();
        }
      },
    });
    for await (const value of calls.stream("endless")) if (value === 1) break;
    await hasEnded;
  });

  it("rejects when a stream fails on the way", async () => {
    const { calls } = linked({
      async *broken() {
        yield 1;
        throw new Error("half way");
      },
    });
    const read = async () => {
      for await (const value of calls.stream("broken")) expect(value).toBe(1);
    };
    await expect(read()).rejects.toThrow("half way");
  });
});
