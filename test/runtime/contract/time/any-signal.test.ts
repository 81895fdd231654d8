import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { anySignal } from "../../../../src/runtime/contract/time/wait-at-most.js";

describe("a signal of any", () => {
  it("fires with the first of its signals, for the same reason", () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const { signal } = anySignal(one.signal, other.signal);
    expect(signal.aborted).toBe(false);
    const reason = new Error("stopped");
    other.abort(reason);
    one.abort(new Error("late"));
    expect(signal.reason).toBe(reason);
  });

  it("has fired if one of its signals had", () => {
    const reason = new Error("stopped");
    expect(anySignal(new AbortController().signal, AbortSignal.abort(reason)).signal.reason).toBe(reason);
  });

  it("leaves nothing in its signals when it is released or has fired", () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const untouched = Object.getOwnPropertySymbols(other.signal);
    const listeners = () => [one, other].flatMap(({ signal }) => getEventListeners(signal, "abort"));
    const { signal, release } = anySignal(one.signal, other.signal);
    expect(listeners()).toHaveLength(2);
    release();
    expect(listeners()).toEqual([]);
    anySignal(one.signal, other.signal);
    one.abort();
    expect(listeners()).toEqual([]);
    expect(signal.aborted).toBe(false);
    expect(Object.getOwnPropertySymbols(other.signal)).toEqual(untouched);
  });
});
