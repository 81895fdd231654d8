import { expect, it } from "vitest";
import { Refusal } from "../../../../src/plugin.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { startQueue } from "../queue.js";

/** Time that passes while one looks, and timers that, like the real ones, may ring a little early. */
class PassingClock extends FakeClock {
  private looks = 0;

  override monotonic(): number {
    return super.monotonic() + this.looks++ * 0.2;
  }

  override after(ms: number, run: () => void): () => void {
    return super.after(Math.max(1, Math.floor(ms) - 1), run);
  }
}

const SHARES = Array.from({ length: 40 }, (_, i) => i / 40);

it("does not miss the moment of a retry that falls due while it looks", async () => {
  for (const share of SHARES) {
    let calls = 0;
    const queue = await startQueue({
      clock: new PassingClock(),
      random: () => share,
      settings: { retry_on_failure: { initial_interval: "10ms" } },
      backend: async () => {
        if (calls++ < 3) throw new Refusal("transient", "not yet");
        return undefined;
      },
    });
    queue.send("a");
    await queue.pass(200, 10);
    expect(queue.taken, `with waits of ${share} of the longest`).toEqual(["a"]);
    await queue.outlet.drain();
  }
});

it("does not miss the moment at which an entry gets too old while it looks", async () => {
  for (const share of SHARES) {
    const queue = await startQueue({
      clock: new PassingClock(),
      settings: { sending_queue: { max_age: `${10 + share}ms` } },
    });
    queue.outlet.pause();
    queue.send("a");
    await queue.pass(50, 10);
    expect(await queue.deadLetters(), `after ${10 + share} ms`).toHaveLength(1);
    await queue.outlet.drain();
  }
});
