import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { type Logger, Refusal } from "../../../src/index.js";
import { limitedLog } from "../../../src/runtime/contract/limited-log.js";
import { ACCEPTED, cleanUp, INTO_KEPT, keeper, make, metric, REFUSED, started } from "./support.js";

const escaped: unknown[] = [];
const listener = (error: unknown) => void escaped.push(error);
afterEach(async () => {
  await cleanUp();
  process.off("unhandledRejection", listener).off("uncaughtException", listener);
});

/** Collects errors that escape into the program from here on. */
function watched(): unknown[] {
  escaped.length = 0;
  process.on("unhandledRejection", listener).on("uncaughtException", listener);
  return escaped;
}

function loggerOf(say: () => never | Promise<never>): Logger {
  const logger: Logger = { debug: say, info: say, warn: say, error: say, child: () => logger };
  return logger;
}

const throwing = loggerOf(() => {
  throw new Error("the log is broken");
});
const rejecting = loggerOf(() => Promise.reject(new Error("the log is broken")));
const failing = () =>
  keeper(async () => {
    throw new Refusal("permanent", "never", { code: "NEVER" });
  }).components;

describe("a logger that fails", () => {
  it.each([
    ["throws", throwing],
    ["rejects", rejecting],
  ])("and %s keeps no record from being settled, and no stop from ending", async (_how, logger) => {
    const unhandled = watched();
    const sluice = await started({ config: INTO_KEPT, components: failing(), logger });
    await expect(sluice.logs.emit({ body: "told" }, { failOnError: true })).rejects.toMatchObject({ code: "NEVER" });
    await sluice.logs.emit({ body: "not told" });
    await sluice.stop();
    await turn();
    expect([metric(sluice, ACCEPTED), metric(sluice, REFUSED)]).toEqual([0, 2]);
    expect(unhandled).toEqual([]);
  });

  it.each([null, false, {}])("because it is %j does not keep Sluice from running", async (none) => {
    const kept = keeper();
    const sluice = await started({ config: INTO_KEPT, components: kept.components, logger: none as never });
    await sluice.logs.emit({ body: "taken" }, { failOnError: true });
    await sluice.stop();
    expect(metric(sluice, ACCEPTED)).toBe(1);
  });

  it("does not hide why Sluice cannot start", async () => {
    const components = keeper().components.map((factory) => ({
      ...factory,
      create: () => ({
        send: async () => undefined,
        start: async () => {
          throw new Error("no such host");
        },
      }),
    }));
    const sluice = await make({ config: INTO_KEPT, components, logger: throwing });
    await expect(sluice.start()).rejects.toThrow("no such host");
  });

  it("does not end the program when a stop takes too long", async () => {
    const unhandled = watched();
    const { components } = keeper(() => new Promise(() => {}));
    const sluice = await started({ config: INTO_KEPT, components, logger: throwing });
    void sluice.logs.emit({ body: "stuck" });
    await sluice.stop(0);
    expect([sluice.status().state, unhandled]).toEqual(["stopped", []]);
  });

  it("need not know of children", async () => {
    const lines: string[] = [];
    const say = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
    const logger = { debug() {}, info() {}, warn: say, error: say } as unknown as Logger;
    const sluice = await started({ config: INTO_KEPT, components: failing(), logger });
    await sluice.logs.emit({ body: 1 });
    await sluice.stop();
    expect(lines.join()).toMatch(/export failed.*"component":"exporter kept"/);
  });
});

describe("limitedLog", () => {
  it("says a thing once although saying it leads back to it", () => {
    const clock = { now: () => 0, monotonic: () => 0, after: () => () => {} };
    const said: [string, number][] = [];
    const log = limitedLog<string>(clock, (what, suppressed) => {
      said.push([what, suppressed]);
      log("and again");
    });
    log("first");
    expect(said).toEqual([["first", 0]]);
  });
});
