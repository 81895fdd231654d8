import { describe, expect, it } from "vitest";
import { Random } from "../../../../src/agent/testing/fakes.js";
import { Clients, Scene, type Shape } from "./oracle.js";

const FIRST: Shape = {
  ...{ bodyMiB: 1, note: 0, fails: false, hasSecondExporter: false, consumers: 2, timeout: 2 },
  ...{ hasTail: false, path: 1, takenPort: undefined },
};

const RELOADS = Number(process.env["RELOADS"] ?? 25);
const SEED = Number(process.env["RELOAD_SEED"] ?? 1);

describe("an agent whose config is reloaded under load", () => {
  it(`loses nothing and refuses no connection in ${RELOADS} random reloads`, async () => {
    const random = new Random(SEED);
    const pick = <T>(...choices: readonly T[]) => random.pick(choices);
    const scene = await Scene.start(FIRST);
    const clients = new Clients(scene.port, 6);
    let shape = FIRST;
    let applied = 0;
    let failed = 0;
    try {
      for (let i = 0; i < RELOADS; i++) {
        scene.backend.isDown = random.chance(0.2);
        const wanted = { ...shape, ...change(pick, i, scene.backend.port) };
        if (await scene.reload(wanted)) {
          shape = { ...wanted, fails: false, takenPort: undefined };
          applied += 1;
        } else failed += 1;
        const before = clients.acknowledged.size;
        await expect.poll(() => clients.acknowledged.size).toBeGreaterThan(before);
      }
      scene.backend.isDown = false;
      await clients.stop();
      const missing = () => [...clients.acknowledged].filter((id) => !scene.backend.seen.has(id)).length;
      await expect.poll(missing).toBe(0);
      expect(clients.broken).toEqual([]);
      expect(applied).toBeGreaterThan(0);
      expect(failed).toBeGreaterThan(0);
    } finally {
      await clients.stop();
      await scene.close();
    }
  });
});

type Pick = <T>(...choices: readonly T[]) => T;

/** One thing changes at a time; some changes cannot run. */
function change(pick: Pick, i: number, takenPort: number): Partial<Shape> {
  return pick<() => Partial<Shape>>(
    () => ({ bodyMiB: i + 2 }),
    () => ({ note: i + 1 }),
    () => ({ fails: true, note: i + 1 }),
    () => ({ hasSecondExporter: pick(true, false) }),
    () => ({ consumers: pick(1, 2, 3, 4) }),
    () => ({ timeout: pick(1, 2, 3) }),
    () => ({ hasTail: pick(true, false) }),
    () => ({ path: i + 2 }),
    () => ({ takenPort, bodyMiB: i + 2 }),
  )();
}
