import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Refusal } from "../../../src/plugin.js";
import { ACCEPTED, Debt, HeldDebts, type Outcome } from "../../../src/runtime/contract/debt.js";

type State = "owed" | "divided" | "settled";

const source = readFileSync(new URL("../../../src/runtime/contract/debt.ts", import.meta.url), "utf8");
const REFUSED: Outcome = { ok: false, refusal: new Refusal("transient", "not now") };

/** The rows of the table at the top of debt.ts, without the line below its head. */
const [head, ...rows] = [...source.matchAll(/^ \* \| (.+) \|$/gm)]
  .map(([, row]) => row!.split("|").map((cell) => cell.trim()))
  .filter(([first]) => !first!.startsWith("--"));
const cells = rows.flatMap(([state, ...after]) => after.map((next, i) => ({ state, event: head![i + 1]!, next })));

/** A debt, the parts that it waits for, and what its creditor was told. */
class Owed {
  readonly told: Outcome[] = [];
  readonly holder = new HeldDebts();
  readonly debt = new Debt((outcome) => void this.told.push(outcome));
  parts: Debt[] = [];

  constructor(state: State) {
    this.holder.add(this.debt);
    if (state === "divided") this.parts = this.debt.divide(2);
    if (state === "settled") this.debt.settle(ACCEPTED);
  }

  get state(): State {
    if (this.debt.isDivided) return "divided";
    return this.debt.outcome === undefined ? "owed" : "settled";
  }
}

/** Every way by which the events of the table come about. */
const EVENTS: Readonly<Record<string, readonly ((owed: Owed) => void)[]>> = {
  "is settled": [({ debt }) => debt.settle(REFUSED)],
  "is replaced by parts": [
    ({ debt }) => debt.divide(2),
    ({ debt }) => Debt.join([debt, new Debt(undefined)]),
    ({ debt }) => debt.observe(() => {}),
    ({ debt }) => debt.catchRefusal(() => {}),
  ],
  "a part settles": [(owed) => partsOf(owed)[0]!.settle(REFUSED)],
  "the last part settles": [(owed) => partsOf(owed).forEach((part) => void part.settle(REFUSED))],
};

/** A debt that is settled first and replaced later has parts, too. */
function partsOf({ debt, parts }: Owed): readonly Debt[] {
  return debt.outcome === undefined ? parts : debt.divide(2);
}

describe("the states of a debt", () => {
  it("are all in the table, with every event", () => {
    expect(head!.slice(1)).toEqual(Object.keys(EVENTS));
    expect(rows.map(([state]) => state)).toEqual(["owed", "divided", "settled"]);
  });

  it("have no parts to settle where the table has a dash", () => {
    const dashes = cells.filter(({ next }) => next === "-");
    expect(dashes.map(({ state, event }) => [state, event])).toEqual([
      ["owed", "a part settles"],
      ["owed", "the last part settles"],
    ]);
    expect(partsOf(new Owed("owed"))).toEqual([]);
  });

  const steps = cells.flatMap(({ state, event, next }) =>
    next === "-"
      ? []
      : EVENTS[event]!.map(
          (act, way) => [`from ${state} to ${next} when it ${event} (${way + 1})`, { state, next, act }] as const,
        ),
  );

  it.each(steps)("lead %s", (_, { state, next, act }) => {
    const owed = new Owed(state as State);
    expect(owed.state).toBe(state);
    act(owed);
    expect(owed.state).toBe(next);
    expect(owed.told, "once, when it is settled").toHaveLength(next === "settled" ? 1 : 0);
    expect(owed.holder.oldest, "its holder has let go of it").not.toBe(owed.debt);
  });

  it.each(EVENTS["is replaced by parts"]!)("wait for the parts of a second replacement, too: %s", (replace) => {
    const owed = new Owed("divided");
    replace(owed);
    for (const part of owed.parts) part.settle(ACCEPTED);
    expect([owed.state, owed.told]).toEqual(["divided", []]);
  });

  it.each(steps.filter(([, { state }]) => state === "settled"))("keep the outcome: %s", (_, { act }) => {
    const owed = new Owed("settled");
    act(owed);
    expect([owed.debt.outcome, ...owed.told]).toEqual([ACCEPTED, ACCEPTED]);
  });
});

describe("the end of a debt", () => {
  it("tells the observer first and the creditors next, with the refusal that the holder maps and blame replaces", () => {
    const told: [who: string, message: string][] = [];
    const tell = (who: string) => (outcome: Outcome) => void told.push([who, messageOf(outcome)]);
    const mapRefusal = ({ message }: Refusal) => new Refusal("transient", `mapped: ${message}`);
    const debt = new Debt(tell("sender"));
    const observed = debt.observe(tell("observer"));
    const holder = new HeldDebts({ mapRefusal });
    holder.add(observed);
    debt.blame(new Refusal("permanent", "blamed"));
    observed.settle(REFUSED);
    expect(told).toEqual([
      ["observer", "mapped: not now"],
      ["sender", "blamed"],
    ]);
    expect(holder.size).toBe(0);
  });

  it("tells nobody if a running component catches the refusal, which then has a debt in its place", () => {
    const { debt, holder, told } = new Owed("owed");
    const returned: Debt[] = [];
    debt.catchRefusal((again) => void returned.push(again)).settle(REFUSED);
    expect([told, holder.oldest]).toEqual([[], returned[0]]);
    returned[0]!.settle(ACCEPTED);
    expect(told).toEqual([ACCEPTED]);
  });

  it("tells the sender if that component has ended", () => {
    const { debt, holder, told } = new Owed("owed");
    const caught = debt.catchRefusal(() => expect.unreachable());
    holder.remove(caught);
    holder.close(new Refusal("transient", "the end"));
    caught.settle(REFUSED);
    expect(told).toEqual([REFUSED]);
  });
});

function messageOf(outcome: Outcome): string {
  return outcome.ok ? outcome.message : outcome.refusal.message;
}
