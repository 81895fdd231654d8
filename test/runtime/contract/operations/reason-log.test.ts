import { expect, it } from "vitest";
import { reasonLog } from "../../../../src/runtime/contract/operations/reason-log.js";
import { FakeClock } from "../../../support/fake-clock.js";

it("says every reason at once, and the same one again after ten seconds with how often it was not said", () => {
  const clock = new FakeClock();
  const said: string[] = [];
  const say = reasonLog(clock, (reason, suppressed) => said.push(`${reason} ${suppressed}`));
  for (const reason of ["lost", "expired", "lost", "lost"]) say(reason);
  expect(said).toEqual(["lost 0", "expired 0"]);
  clock.advance(10_000);
  say("lost");
  expect(said.at(-1)).toBe("lost 2");
});

it("forgets the oldest of many reasons", () => {
  const said: string[] = [];
  const say = reasonLog(new FakeClock(), (reason) => said.push(reason));
  for (let i = 0; i < 9; i++) say(String(i));
  say("8");
  say("0");
  expect(said).toEqual(["0", "1", "2", "3", "4", "5", "6", "7", "8", "0"]);
});
