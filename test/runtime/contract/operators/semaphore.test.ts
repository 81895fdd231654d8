import { describe, expect, it } from "vitest";
import { Semaphore } from "../../../../src/runtime/contract/calls/direct-outlet.js";

const never = new AbortController().signal;

describe("turns", () => {
  it("lets so many go at once and the others in the order they came", async () => {
    const turns = new Semaphore(1);
    const went: string[] = [];
    expect(turns.acquire(never)).toBeUndefined();
    const waiting = ["a", "b"].map((name) => turns.acquire(never)?.then(() => went.push(name)));
    turns.release();
    await waiting[0];
    expect(went).toEqual(["a"]);
    turns.release();
    await waiting[1];
    turns.release();
    expect(went).toEqual(["a", "b"]);
    expect(turns.acquire(never)).toBeUndefined();
  });

  it("skips one that has stopped waiting", async () => {
    const turns = new Semaphore(1);
    turns.acquire(never);
    const impatient = new AbortController();
    const left = turns.acquire(impatient.signal);
    const next = turns.acquire(never);
    impatient.abort(new Error("too late"));
    await expect(left).rejects.toThrow("too late");
    turns.release();
    await next;
  });
});
