import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { Batch, batchToJson, Refusal } from "../../../../src/plugin.js";
import { createSelfTelemetry } from "../../../../src/runtime/host/self-telemetry/self-telemetry.js";
import { configWith, observe } from "./support.js";

// biome-ignore lint/suspicious/noControlCharactersInRegex: looking for terminal control characters
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/;

describe("as JSON", () => {
  test("is one object a line with an ISO time, the level, the component and the fields", () => {
    const { logger, stderr } = observe({ logs: { initial_fields: { region: "eu" } } });
    logger.child({ component: "otlp/2" }).info({ port: 4318, big: 2n ** 60n }, "listening");
    expect(stderr.lines).toEqual([
      {
        level: "info",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        region: "eu",
        component: "otlp/2",
        port: 4318,
        big: "1152921504606846976",
        msg: "listening",
      },
    ]);
  });

  test("escapes what is invisible or changes the direction of text, and stays the same JSON", () => {
    const hostile = "user\u202egnp.exe \u2066a\u2069 \u200f \u009b31m \u{e0041}\ufeff";
    const { logger, stderr } = observe({});
    logger.warn({ path: hostile, [hostile]: 1, err: new Error(hostile) }, hostile);
    expect(stderr.text).not.toMatch(/[\u007f-\u009f\u200f\u202e\u2066-\u2069\ufeff\u{e0041}]/u);
    expect(stderr.text).toContain("user\\u202egnp.exe");
    expect(stderr.lines[0]).toMatchObject({ msg: hostile, path: hostile, [hostile]: 1, err: { message: hostile } });
  });

  test("leaves out what is below the level", () => {
    const { logger, stderr } = observe({ logs: { level: "WARN" } });
    logger.info({}, "not this");
    logger.warn({}, "but this");
    expect(stderr.lines.map((line) => line["msg"])).toEqual(["but this"]);
  });

  test("says nothing at all when silent", () => {
    const { logger, stderr } = observe({ logs: { level: "silent" } });
    logger.error({}, "not this");
    expect(stderr.text).toBe("");
  });

  test.each([
    ["info", false],
    ["debug", true],
  ])("describes errors with code and causes; at %s with a stack: %s", (level, withStack) => {
    const { logger, stderr } = observe({ logs: { level } });
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    logger.error(
      { error: new Refusal("transient", "cannot send", { code: "SLUICE_X", status: "HTTP 503", cause }) },
      "x",
    );
    const error = stderr.lines[0]?.["error"];
    const described = { message: "cannot send", code: "SLUICE_X", status: "HTTP 503", cause: { code: "ECONNREFUSED" } };
    expect(error).toMatchObject(described);
    expect("stack" in (error as object)).toBe(withStack);
  });

  test.each(["error", "err", "anything"])("describes an error, and where it was thrown, under the key %s", (key) => {
    const { logger, stderr } = observe({});
    logger.error({ [key]: new TypeError("no", { cause: "just so" }) }, "failed");
    const at = expect.stringMatching(/^test\/runtime\/host\/self-telemetry\/logs\.test\.ts:\d+:\d+$/);
    expect(stderr.lines[0]?.[key]).toEqual({ type: "TypeError", message: "no", at, cause: "just so" });
  });

  test("survives fields that refer to themselves and causes without an end", () => {
    const { logger, stderr } = observe({});
    const endless = new Error("around");
    endless.cause = endless;
    const loop: Record<string, unknown> = {};
    loop["loop"] = loop;
    logger.warn({ endless, loop }, "still here");
    expect(stderr.lines[0]?.["msg"]).toBe("still here");
  });
});

describe("for a person", () => {
  test("is time, level, component, sentence and fields", () => {
    const { logger, stderr } = observe({ logs: { encoding: "console" } });
    logger
      .child({ component: "otlp", kind: "receiver" })
      .info({ endpoint: "127.0.0.1:4318", note: "two words" }, "listening");
    expect(stderr.text).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}receiver otlp: listening endpoint=127\.0\.0\.1:4318 note="two words"\n$/,
    );
  });

  test("says an error's reasons in one sentence", () => {
    const { logger, stderr } = observe({ logs: { encoding: "console" } });
    const cause = Object.assign(new Error("no route"), { code: "EHOSTUNREACH" });
    logger.error({ error: new Error("cannot send", { cause }) }, "gave up");
    expect(stderr.text).toMatch(
      /gave up error=cannot send at \S+logs\.test\.ts:\d+:\d+, because no route \(EHOSTUNREACH\) at \S+logs\.test\.ts:/,
    );
  });

  test("is coloured on a terminal, and lets nothing else control it", () => {
    const { logger, stderr } = observe({}, true);
    logger.warn({ evil: "\u001b[2J\u009b31m\u0007", "\u001b]0;x": 1 }, "clear\u001b[2J\r\nfake line");
    expect(stderr.text).toContain("\u001b[33mWARN \u001b[0m");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: removing our own colours
    const uncoloured = stderr.text.replace(/\u001b\[\d+m/g, "");
    expect(uncoloured).not.toMatch(CONTROL);
    expect(uncoloured.split("\n")).toHaveLength(2);
  });

  test("is not coloured when the terminal says it has no colours", () => {
    const stderr = Object.assign(new Writable({ write: (chunk, _, done) => done(void (text += chunk)) }), {
      hasColors: () => false,
    });
    let text = "";
    createSelfTelemetry(configWith({}), { stderr, isTerminal: true }).logger.info({}, "plain");
    expect(text).toContain("INFO  plain");
  });

  test("shows the stack below, at debug", () => {
    const { logger, stderr } = observe({ logs: { encoding: "console", level: "debug" } });
    logger.error({ error: new Error("broken") }, "oh");
    expect(stderr.text.split("\n")[1]).toMatch(/^ {4}at /);
  });
});

describe("a stderr that does not work", () => {
  test("that is not read costs log lines, not memory or time, and reports how many", async () => {
    let stalled: (() => void) | undefined;
    let reading = false;
    let text = "";
    const stderr = new Writable({
      write(chunk, _, done) {
        text += chunk;
        if (reading) done();
        else stalled = done;
      },
    });
    const self = createSelfTelemetry(configWith({}), { stderr, isTerminal: false });
    for (let i = 0; i < 3000; i++) self.logger.info({ filler: "x".repeat(1000) }, `line ${i}`);
    expect(stderr.writableLength).toBeLessThan(1.1 * 1024 * 1024);
    reading = true;
    stalled?.();
    await expect.poll(() => stderr.writableLength).toBe(0);
    self.logger.info({}, "back");
    await expect.poll(() => text).toContain('"msg":"back"');
    const missing = text.split("\n").find((line) => line.includes("were dropped"));
    expect(JSON.parse(missing!).lines + text.split('"msg":"line ').length - 1).toBe(3000);
  });

  test("that is closed does not end the process", async () => {
    const script = `
      const { createSelfTelemetry } = await import(${JSON.stringify(new URL("../../../../dist/runtime/host/self-telemetry/self-telemetry.js", import.meta.url).href)});
      const { serviceSchema } = await import(${JSON.stringify(new URL("../../../../dist/runtime/config/schema/service-schema.js", import.meta.url).href)});
      const service = serviceSchema.parse({ telemetry: { metrics: { level: "none" } } });
      const self = createSelfTelemetry({ service, placeOf: () => undefined }, { stderr: process.stderr, isTerminal: false });
      let lines = 0;
      const timer = setInterval(() => {
        self.logger.info({}, "hello");
        if (++lines === 50) { clearInterval(timer); self.stop().then(() => console.log("alive")); }
      }, 1);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "pipe"] });
    child.stderr.destroy();
    let out = "";
    for await (const chunk of child.stdout) out += chunk;
    expect(out.trim()).toBe("alive");
  });
});

interface Target {
  readonly url: string;
  readonly bodies: { readonly url: string; readonly headers: NodeJS.Dict<string | string[]>; readonly bytes: Buffer }[];
}

async function otlpTarget(status = 200): Promise<Target> {
  const bodies: { url: string; headers: NodeJS.Dict<string | string[]>; bytes: Buffer }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    bodies.push({ url: request.url!, headers: request.headers, bytes: Buffer.concat(chunks) });
    response.writeHead(status, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

describe("as OTLP", () => {
  const metrics = { level: "none" };

  test("sends own logs where the config says, early ones too", async () => {
    const target = await otlpTarget();
    const otlp = { endpoint: target.url, headers: [{ name: "x-key", value: "abc" }] };
    const resource = { "service.name": "my-agent", "service.version": null };
    const self = observe({ logs: { processors: [{ batch: { exporter: { otlp } } }] }, metrics, resource });
    self.logger.child({ component: "otlp" }).warn({ port: 4318 }, "early");
    await self.start();
    self.logger.error({ error: new Error("bad") }, "late");
    await self.stop();
    expect(target.bodies[0]).toMatchObject({ url: "/v1/logs", headers: { "x-key": "abc" } });
    expect(target.bodies[0]!.headers["content-type"]).toBe("application/x-protobuf");
    const { resourceLogs } = JSON.parse(batchToJson(Batch.admit("logs", target.bodies[0]!.bytes)));
    expect(resourceLogs[0].resource.attributes).toEqual([
      { key: "service.name", value: { stringValue: "my-agent" } },
      { key: "service.instance.id", value: { stringValue: expect.any(String) } },
    ]);
    const records = resourceLogs[0].scopeLogs[0].logRecords;
    expect(records).toMatchObject([
      { severityNumber: 13, severityText: "WARN", body: { stringValue: "early" } },
      { severityNumber: 17, severityText: "ERROR", body: { stringValue: "late" } },
    ]);
    expect(records[0].attributes).toContainEqual({ key: "port", value: { intValue: "4318" } });
  });

  test("says once that a target cannot be reached", async () => {
    const target = await otlpTarget(400);
    const self = observe({
      logs: { processors: [{ simple: { exporter: { otlp: { endpoint: target.url } } } }] },
      metrics,
    });
    await self.start();
    for (let i = 0; i < 5; i++) self.logger.info({}, `line ${i}`);
    await expect.poll(() => target.bodies.length).toBeGreaterThanOrEqual(6);
    await self.stop();
    const complaints = self.stderr.lines.filter((line) => String(line["msg"]).includes("cannot export"));
    expect(complaints).toHaveLength(1);
    expect(complaints[0]).toMatchObject({ level: "warn", url: `${target.url}/v1/logs` });
  });

  test("stops in bounded time when the target is not there", async () => {
    const otlp = { endpoint: "http://127.0.0.1:9", timeout: 60_000 };
    const self = observe({ logs: { processors: [{ batch: { exporter: { otlp } } }] }, metrics });
    await self.start();
    self.logger.info({}, "nobody hears this");
    await self.stop();
  });

  test("blames the place of a protocol it does not speak", async () => {
    const otlp = { endpoint: "localhost:4317", protocol: "grpc/protobuf" };
    const self = observe({ logs: { processors: [{ batch: { exporter: { otlp } } }] }, metrics });
    await expect(self.start()).rejects.toMatchObject({
      code: "SLUICE_START",
      path: ["service", "telemetry", "logs", "processors", "0", "batch", "exporter", "otlp", "protocol"],
    });
  });
});
