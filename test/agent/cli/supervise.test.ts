import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { supervise } from "../../../src/agent/cli/supervise.js";
import type { Logger } from "../../../src/runtime/contract/observability.js";

/** An agent whose drain ends when the test says so, and a clock that the test moves. */
function scene() {
  const calls: string[] = [];
  const logged: string[] = [];
  const timers: { ms: number; run: () => void }[] = [];
  let drained = () => {};
  const log = (level: string) => (_: object, message: string) => logged.push(`${level} ${message}`);
  const logger: Logger = {
    debug: log("debug"),
    info: log("info"),
    warn: log("warn"),
    error: log("error"),
    child: () => logger,
  };
  const agent = {
    start: async () => void calls.push("start"),
    stop: (timeoutMs: number) => {
      calls.push(`stop ${timeoutMs}`);
      return new Promise<void>((resolve) => {
        drained = resolve;
      });
    },
    reload: () => void calls.push("reload"),
    abort: () => void calls.push("abort"),
  };
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    after(ms: number, run: () => void) {
      timers.push({ ms, run });
      return () => {};
    },
  };
  const signals = new EventEmitter();
  const ownerOf = (error: unknown) => (error as { plugin?: string }).plugin;
  const start = (over: Partial<typeof agent> = {}) =>
    supervise({ ...agent, ...over }, { signals, logger, clock, shutdownTimeoutMs: () => 5000, pluginOf: ownerOf });
  return { calls, logged, timers, signals, start, drained: () => drained() };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("supervise", () => {
  it.each(["SIGTERM", "SIGINT"])("drains on %s and ends with 0", async (signal) => {
    const { calls, signals, start, drained } = scene();
    const code = start();
    await settled();
    expect(calls).toEqual(["start"]);
    signals.emit(signal, signal);
    await settled();
    expect(calls).toEqual(["start", "stop 5000"]);
    drained();
    expect(await code).toBe(0);
  });

  it("keeps the process alive while it runs, even if no component does", async () => {
    const { signals, start, drained } = scene();
    const living = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = living();
    const code = start();
    expect(living()).toBe(before + 1);
    await settled();
    signals.emit("SIGTERM", "SIGTERM");
    await settled();
    drained();
    expect(await code).toBe(0);
  });

  it("continues after an uncaught error of a plugin, and names the plugin", async () => {
    const { calls, logged, signals, start, drained } = scene();
    const code = start();
    await settled();
    signals.emit("uncaughtException", Object.assign(new Error("bang"), { plugin: "./mine.js" }));
    signals.emit("unhandledRejection", Object.assign(new Error("bang"), { plugin: "./mine.js" }));
    await settled();
    expect(calls).toEqual(["start"]);
    expect(logged).toEqual([
      "error uncaught exception in the plugin ./mine.js",
      "error unhandled rejection in the plugin ./mine.js",
    ]);
    signals.emit("SIGTERM", "SIGTERM");
    await settled();
    drained();
    expect(await code).toBe(0);
  });

  it("aborts on a second signal and ends with 1", async () => {
    const { calls, logged, signals, start } = scene();
    const code = start();
    await settled();
    signals.emit("SIGTERM", "SIGTERM");
    signals.emit("SIGINT", "SIGINT");
    expect(await code).toBe(1);
    expect(calls).toContain("abort");
    expect(logged.join()).toContain("second signal");
  });

  it("drains a start that was interrupted, once it is done", async () => {
    const { calls, signals, start, drained } = scene();
    const code = start();
    signals.emit("SIGTERM", "SIGTERM");
    await settled();
    expect(calls).toEqual(["start", "stop 5000"]);
    drained();
    expect(await code).toBe(0);
  });

  it("reloads on SIGHUP, as often as it comes, and goes on", async () => {
    const { calls, signals, start, drained } = scene();
    const code = start();
    await settled();
    signals.emit("SIGHUP", "SIGHUP");
    signals.emit("SIGHUP", "SIGHUP");
    expect(calls).toEqual(["start", "reload", "reload"]);
    signals.emit("SIGTERM", "SIGTERM");
    signals.emit("SIGHUP", "SIGHUP");
    await settled();
    expect(calls).toEqual(["start", "reload", "reload", "stop 5000"]);
    drained();
    expect(await code).toBe(0);
  });

  it("reloads after the start if SIGHUP came before", async () => {
    const { calls, signals, start } = scene();
    let started = () => {};
    const starting = new Promise<void>((resolve) => {
      started = resolve;
    });
    void start({ start: () => starting.then(() => undefined) });
    signals.emit("SIGHUP", "SIGHUP");
    signals.emit("SIGHUP", "SIGHUP");
    await settled();
    expect(calls).toEqual([]);
    started();
    await settled();
    expect(calls).toEqual(["reload"]);
  });

  it("ends at once on a second signal while the start hangs", async () => {
    const { signals, start } = scene();
    const code = start({ start: () => new Promise(() => {}) });
    signals.emit("SIGTERM", "SIGTERM");
    signals.emit("SIGTERM", "SIGTERM");
    expect(await code).toBe(1);
  });

  it("logs an uncaught exception, drains and ends with 1", async () => {
    const { calls, logged, signals, start, drained } = scene();
    const code = start();
    await settled();
    signals.emit("uncaughtException", new Error("boom"));
    await settled();
    expect(calls).toEqual(["start", "stop 5000"]);
    drained();
    expect(await code).toBe(1);
    expect(logged[0]).toMatch(/^error uncaught exception/);
  });

  it("logs an unhandled rejection and goes on", async () => {
    const { calls, logged, signals, start, drained } = scene();
    const code = start();
    await settled();
    signals.emit("unhandledRejection", new Error("boom"));
    await settled();
    expect(calls).toEqual(["start"]);
    expect(logged[0]).toMatch(/^error unhandled rejection/);
    signals.emit("SIGTERM", "SIGTERM");
    await settled();
    drained();
    expect(await code).toBe(0);
  });

  it("exits with 1 when a drain hangs", async () => {
    const { calls, timers, signals, start } = scene();
    const code = start();
    await settled();
    signals.emit("SIGTERM", "SIGTERM");
    await settled();
    expect(timers.map(({ ms }) => ms)).toEqual([15_000]);
    timers[0]?.run();
    expect(await code).toBe(1);
    expect(calls.at(-1)).toBe("abort");
  });

  it("passes on a failed start and lets go of the process", async () => {
    const { signals, start } = scene();
    await expect(start({ start: () => Promise.reject(new Error("port in use")) })).rejects.toThrow("port in use");
    expect(signals.eventNames()).toEqual([]);
  });
});
