import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-process-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the built command line as people do, in the folder `cwd`; `unread` closes its stdout before it writes. */
function sluice(args: readonly string[], { unread = false, cwd = process.cwd() } = {}) {
  return new Promise<{ code: number | null; out: string; err: string }>((ended) => {
    const child = spawn(process.execPath, [resolve("bin/sluice.js"), ...args], {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    if (unread) child.stdout.destroy();
    else child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (err += chunk));
    child.on("close", (code) => ended({ code, out, err }));
  });
}

describe("the sluice process", () => {
  it("ends with 2 on wrong usage", async () => {
    expect(await sluice(["rnu"])).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining('did you mean "run"?'),
    });
  });

  it("takes sluice.yaml in the current folder if no config is named", async () => {
    const cwd = mkdtempSync(join(folder, "here-"));
    writeFileSync(join(cwd, "sluice.yaml"), "receivers: {nop: }\nexporters: {nop: }\n");
    const { code, err } = await sluice(["validate"], { cwd });
    expect([code, err]).toEqual([1, expect.stringContaining("sluice.yaml")]);
    const other = join(folder, "other.yaml");
    writeFileSync(
      other,
      "receivers: {nop: }\nexporters: {nop: }\nservice: {pipelines: {logs: {receivers: [nop], exporters: [nop]}}}\n",
    );
    expect(await sluice(["validate", "--config", other], { cwd })).toMatchObject({ code: 0, err: "" });
  });

  it("ends run with 1 on a bad config, without colour in a pipe", async () => {
    const path = join(folder, "bad.yaml");
    writeFileSync(
      path,
      "receivers: {nonsense: }\nservice: {pipelines: {logs: {receivers: [nonsense], exporters: [x]}}}\n",
    );
    const { code, out, err } = await sluice(["run", "--config", path]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(`at ${path}:1:13  receivers.nonsense`);
    expect(err).toContain("2 errors");
    expect(err).not.toContain("\x1b[");
  });

  it("does not crash when its output is closed", async () => {
    expect(await sluice(["components", "--json"], { unread: true })).toMatchObject({ code: 0, err: "" });
  });

  it("does not let a plugin that ends the process look like success", async () => {
    const path = join(folder, "ending.yaml");
    writeFileSync(join(folder, "ending.mjs"), "process.exit(0)");
    writeFileSync(path, "plugins: [./ending.mjs]");
    const { code, err } = await sluice(["validate", "--config", path]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("a plugin called process.exit") });
  });

  const running = `receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {nop: }
extensions: {reliability: {directory: ${JSON.stringify(join(folder, "queue"))}}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [nop]}}
`;

  it.each(["SIGTERM", "SIGINT"] as const)("runs until %s, then drains and ends with 0", async (signal) => {
    const path = join(folder, "running.yaml");
    writeFileSync(path, running);
    const child = spawn(process.execPath, ["bin/sluice.js", "run", "--config", path], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    child.stderr.on("data", (chunk) => {
      const wasReady = err.includes('"msg":"ready"');
      err += chunk;
      if (!wasReady && err.includes('"msg":"ready"')) child.kill(signal);
    });
    const ended = await new Promise((resolve) => child.on("close", (code, by) => resolve({ code, by })));
    expect(ended).toEqual({ code: 0, by: null });
    expect(err).toContain(`"signal":"${signal}"`);
    expect(err).toContain('"msg":"stopped"');
  });

  it.skipIf(process.platform === "win32")("does not let SIGUSR1 open the debugger", async () => {
    const path = join(folder, "signalled.yaml");
    writeFileSync(path, running);
    const child = spawn(process.execPath, ["bin/sluice.js", "run", "--config", path], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let err = "";
    child.stderr.on("data", (chunk) => (err += chunk));
    await expect.poll(() => err).toContain('"msg":"ready"');
    for (let times = 0; times < 5; times++) {
      child.kill("SIGUSR1");
      await new Promise((resolve) => setImmediate(resolve));
    }
    child.kill("SIGTERM");
    const [code] = await once(child, "close");
    expect(code).toBe(0);
    expect(err).not.toMatch(/debugger|inspector/i);
  });

  it.runIf(existsSync("/dev/full"))("runs, and drains, with a log that cannot be written", async () => {
    const path = join(folder, "unwritable.yaml");
    const port = await freePort();
    writeFileSync(path, running);
    const full = openSync("/dev/full", "w");
    const set = ["--set", `extensions.health_check.endpoint=127.0.0.1:${port}`];
    const child = spawn(process.execPath, ["bin/sluice.js", "run", "--config", path, ...set], {
      stdio: ["ignore", "ignore", full],
    });
    const ended = new Promise((resolve) => child.on("close", (code, by) => resolve({ code, by })));
    onTestFinished(() => {
      child.kill("SIGKILL");
      closeSync(full);
    });
    const isHealthy = async () => (await fetch(`http://127.0.0.1:${port}/`)).ok;
    await expect.poll(isHealthy).toBe(true);
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: 0, by: null });
  });

  it.runIf(existsSync("/dev/full"))("ends with 1 when its output cannot be written", async () => {
    const full = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(full));
    const child = spawn(process.execPath, ["bin/sluice.js", "components"], { stdio: ["ignore", full, "pipe"] });
    let err = "";
    child.stderr!.on("data", (chunk) => (err += chunk));
    const [code] = await once(child, "close");
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^sluice: cannot write the output: ENOSPC.*\n$/),
    });
  });

  it("stops at once on a second signal, refuses what is under way and ends with 1", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    const path = join(folder, "hanging.yaml");
    writeFileSync(
      path,
      running
        .replace(
          "{nop: }",
          `{otlphttp: {endpoint: "http://127.0.0.1:${port}", timeout: 0, sending_queue: {enabled: false}}}`,
        )
        .replace("[nop]", "[otlphttp]"),
    );
    const args = ["bin/sluice.js", "run", "--config", path, "--shutdown-timeout", "5m"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
    const ended = new Promise((resolve) => child.on("close", (code) => resolve(code)));
    let err = "";
    const logged = (text: string) =>
      new Promise<void>((resolve) => {
        const look = () => void (err.includes(text) && resolve());
        child.stderr.on("data", look);
        look();
      });
    child.stderr.on("data", (chunk) => (err += chunk));
    await logged('"msg":"ready"');
    const taken = once(silent, "connection");
    const url = `http://${/"http":"(127\.0\.0\.1:\d+)"/.exec(err)?.[1]}/v1/logs`;
    const answer = fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}',
    }).then(
      ({ status }) => status,
      () => "closed",
    );
    await taken;
    child.kill("SIGTERM");
    await logged("stopping");
    child.kill("SIGTERM");
    expect(await ended).toBe(1);
    expect(await answer).not.toBe(200);
    expect(err).toContain("second signal");
    silent.close();
  });

  it("shows a port that is taken with its place in the config, and ends with 1", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as AddressInfo;
    const path = join(folder, "taken.yaml");
    writeFileSync(path, running.replace("127.0.0.1:0", `127.0.0.1:${port}`));
    const { code, err } = await sluice(["run", "--config", path]);
    taken.close();
    expect(code).toBe(1);
    expect(err).toContain(`${path}:1:49  receivers.otlp.protocols.http.endpoint`);
  });
});
