import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import { afterAll, describe, expect, it } from "vitest";
import { type SupervisedTransport, sluiceTransport } from "../../../../src/pino.js";
import { until } from "../../../support/until.js";
import { cleanUp, temporaryFolder } from "../support.js";

afterAll(cleanUp);

const target = join(import.meta.dirname, "fixtures/small-worker.mjs");

/** A transport whose worker writes what it settles to a file, and what is in it. */
function supervised(options: object = {}) {
  const out = join(temporaryFolder(), "lines");
  const transport = sluiceTransport({ target, out, ...options } as never);
  const written = () => (existsSync(out) ? readFileSync(out, "utf8").split("\n").slice(0, -1) : []);
  const settled = () => written().filter((line) => !line.startsWith("#"));
  const told = () => written().filter((line) => line.startsWith("#"));
  return { transport, settled, told };
}

const flushed = (transport: SupervisedTransport) => new Promise<void>((resolve) => transport.flush(() => resolve()));
const workerOf = (transport: SupervisedTransport) =>
  (transport as unknown as { stream: { worker: { terminate(): Promise<number> } } }).stream.worker;

describe.concurrent("sluiceTransport", () => {
  it("loses only the lines that crash each worker", async () => {
    const { transport, settled } = supervised();
    transport.write("before\n");
    await flushed(transport);
    for (let i = 0; i < 700; i++) transport.write(i === 3 ? "poison\n" : `line ${i}\n`);
    await transport.end();
    // Those before the poison are settled one by one, and so are those behind what can be under way with it.
    const others = Array.from({ length: 700 }, (_, i) => `line ${i}`).filter((_, i) => i < 3 || i >= 503);
    expect(new Set(settled())).toEqual(new Set(["before", ...others]));
    expect(transport.lostLines).toBe(500);
  });

  it("counts what its worker loses at the end, and does not wait for one that hangs", async () => {
    const [slow, hanging] = [supervised(), supervised()];
    for (const [{ transport }, word] of [
      [slow, "later"],
      [hanging, "hang"],
    ] as const) {
      for (let i = 0; i < 10; i++) transport.write(`${word} ${i}\n`);
    }
    await Promise.all([slow.transport.end(0), hanging.transport.end(0)]);
    expect([slow.transport.lostLines, hanging.transport.lostLines]).toEqual([10, 10]);
  });

  it("counts lines over its limit as lost, and takes on when there is room again", async () => {
    const { transport, settled } = supervised({ maxBytes: 2000 });
    for (let i = 0; i < 100; i++) transport.write(`${"x".repeat(100)}\n`);
    await flushed(transport);
    transport.write("last\n");
    await transport.end();
    const count = settled().length;
    expect([count, transport.lostLines, settled().at(-1)]).toEqual([20, 81, "last"]);
  });

  it("counts lines as its worker does, for every way of writing them", async () => {
    const { transport, settled } = supervised();
    for (const text of ["one\ntwo\nthree", "", "four\n", "\n"]) transport.write(text);
    await transport.end();
    expect(settled()).toEqual(["one", "two", "three", "four", ""]);
    expect(transport.lostLines).toBe(0);
  });

  it("flushes what was written until then, and does not wait for what follows", async () => {
    const { transport, settled } = supervised();
    transport.write("one\n");
    const before = flushed(transport);
    transport.write("later\n");
    await before;
    expect(settled()).toEqual(["one"]);
    await transport.end(0);
    expect(transport.lostLines).toBe(1);
  });

  it("tells every worker how pino writes its lines", async () => {
    const { transport, told } = supervised();
    const logger = pino({ base: null, timestamp: false, messageKey: "message" }, transport as never);
    const configs = () => told().filter((line) => line === "#PINO_CONFIG");
    logger.info("first");
    await until(() => expect(configs()).toHaveLength(1));
    await workerOf(transport).terminate();
    logger.info("second");
    await until(() => expect(configs()).toHaveLength(2));
    await transport.end();
  });

  it("reports what it still has when the process ends without a worker", async () => {
    const code = `
      import { sluiceTransport } from "sluice/pino";
      const transport = sluiceTransport(${JSON.stringify({ target, out: join(temporaryFolder(), "lines") })});
      transport.write("one\\n");
      await new Promise((resolve) => transport.flush(resolve));
      setInterval(() => {}, 1000);
      transport.stream.on("close", () => {
        for (let i = 0; i < 7; i++) transport.write("line\\n");
        process.exit(0);
      });
      await transport.stream.worker.terminate();`;
    const { stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
      cwd: join(import.meta.dirname, "../../../.."),
    });
    expect(stderr).toContain("7 log lines were not delivered: the process has ended");
  });
});
