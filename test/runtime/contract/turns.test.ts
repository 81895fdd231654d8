import { describe, expect, it } from "vitest";
import { Turns } from "../../../src/runtime/contract/turns.js";

const never = new AbortController().signal;

describe("turns", () => {
  it("lets so many go at once and the others in the order they came", async () => {
    const turns = new Turns(1);
    const went: string[] = [];
    expect(turns.take(never)).toBeUndefined();
    const waiting = ["a", "b"].map((name) => turns.take(never)?.then(() => went.push(name)));
    turns.give();
    await waiting[0];
    expect(went).toEqual(["a"]);
    turns.give();
    await waiting[1];
    turns.give();
    expect(went).toEqual(["a", "b"]);
    expect(turns.take(never)).toBeUndefined();
  });

  it("passes over one that gave up waiting", async () => {
    const turns = new Turns(1);
    turns.take(never);
    const impatient = new AbortController();
    const left = turns.take(impatient.signal);
    const next = turns.take(never);
    impatient.abort(new Error("too late"));
    await expect(left).rejects.toThrow("too late");
    turns.give();
    await next;
  });
});
