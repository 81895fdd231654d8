import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { encodeTask } from "../../src/agent/rehearsal/process/child-frames.js";
import { REHEARSAL_COMMAND } from "../../src/agent/rehearsal/process/rehearsal-command.js";
import { freePort } from "../../src/agent/testing/free-port.js";
import { type RehearsedAgent, startRehearsedAgent } from "../agent/rehearsal/process/rehearsed-agent.js";
import { temporaryFolder } from "../support/temporary-folder.js";

/** The processes that an agent has started, and their states. */
function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    const [, rest = ""] = /\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    const [state, parent] = rest.split(" ");
    return state === "Z" ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

/** The CPU time that a process has used, in hundredths of a second. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

function writePlugin({ folder }: RehearsedAgent, name: string, code: string): string {
  const file = join(folder, name);
  const door = new URL("../../dist/bundle/plugin.js", import.meta.url).href;
  writeFileSync(file, `import { defineProcessor, eachBatch } from ${JSON.stringify(door)};\n${code}`);
  return file;
}

const processor = (work: string) =>
  `export default defineProcessor({ type: "bad", create: () => eachBatch(async (batch) => { ${work}; return batch; }) });`;

describe("a rehearsal of a hostile config", () => {
  it("ends a plugin that never returns when it is cancelled, and the agent does not wait for it", async () => {
    const agent = await startRehearsedAgent();
    const plugin = writePlugin(agent, "loop.mjs", "for (;;);");
    agent.write({ top: `plugins: [${plugin}]`, processors: "bad: {}", use: "bad" });
    expect((await agent.request("POST", "/config/rehearsal", { seconds: 1 })).status).toBe(202);
    await expect.poll(() => childrenOf(agent.agent.child.pid!).length).toBe(1);
    expect((await agent.request("POST", "/config/rehearsal", {})).status).toBe(409);
    const { body } = await agent.request("DELETE", "/config/rehearsal");
    expect(body.rehearsal.state).toBe("cancelled");
    await expect.poll(() => childrenOf(agent.agent.child.pid!)).toEqual([]);
    agent.write({});
    expect((await agent.rehearse()).state).toBe("done");
  });

  it("leaves no process behind when the agent is killed, even if a plugin loops", async () => {
    const agent = await startRehearsedAgent();
    const plugin = writePlugin(agent, "loop.mjs", processor("for (;;);"));
    agent.write({ top: `plugins: [${plugin}]`, processors: "bad: {}", use: "bad" });
    await agent.request("POST", "/config/rehearsal", { seconds: 1, share: 1 });
    await agent.reached("comparing");
    const [child] = childrenOf(agent.agent.child.pid!);
    await expect.poll(() => cpuTicks(child!)).toBeGreaterThan(cpuTicks(child!) + 50);
    agent.agent.child.kill("SIGKILL");
    await agent.agent.exited;
    await expect.poll(() => parentOf(String(child))).toBe(undefined);
  });

  it("runs no plugin when the agent was killed before its process had started", async () => {
    const folder = temporaryFolder();
    const config = join(folder, "agent.yaml");
    writeFileSync(join(folder, "loop.mjs"), "for (;;);");
    writeFileSync(config, "plugins: [./loop.mjs]");
    const child = spawn(process.execPath, [join(import.meta.dirname, "../../bin/sluice.js"), REHEARSAL_COMMAND], {
      stdio: ["pipe", "ignore", "ignore", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const exited = once(child, "exit");
    const before = { files: {}, plugins: {}, remoteFiles: [] };
    const formerParent = process.pid + 1;
    child.stdin!.write(encodeTask({ config: [config], set: [], remoteFiles: [], before }, formerParent));
    const [message] = await once(child.stdio[3] as Readable, "data");
    expect(String(message)).toContain("the agent has ended");
    expect(await exited).toEqual([1, null]);
  });

  it("lets plugins write no files and start no programs", async () => {
    const agent = await startRehearsedAgent();
    const written = join(agent.folder, "written");
    const code = `
import { writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
${processor(`
  try { writeFileSync(${JSON.stringify(written)}, "x"); } catch {}
  spawnSync("touch", [${JSON.stringify(`${written}-by-program`)}]);
`)}`;
    const plugin = writePlugin(agent, "writes.mjs", code);
    agent.write({ top: `plugins: [${plugin}]`, processors: "bad: {}", use: "bad" });
    const { state, error, problems, report } = await agent.rehearse();
    expect([state, error, problems]).toEqual(["done", undefined, []]);
    expect(report!.newErrors).toBeGreaterThan(0);
    expect(JSON.stringify(report!.errors)).toMatch(/ERR_ACCESS_DENIED|Access to this API has been restricted/);
    expect([existsSync(written), existsSync(`${written}-by-program`)]).toEqual([false, false]);
  });

  it("shows no secret that a variable or a file has filled in", async () => {
    const agent = await startRehearsedAgent({}, { SECRET_OF_TEST: "variable-hunter2" });
    const secret = join(agent.folder, "secret");
    writeFileSync(secret, "file-hunter2\n");
    agent.write({
      processors: [
        `attributes: {actions: [{key: a, value: "\${env:SECRET_OF_TEST}", action: insert}]}`,
        `transform: {log_statements: ['set(log.attributes["b"], "x-\${file:${secret}}")', 'set(log.attributes["\${env:SECRET_OF_TEST}"], 1)']}`,
      ].join(", "),
      use: "attributes, transform",
    });
    const { state, report } = await agent.rehearse();
    expect(state).toBe("done");
    expect(report!.total.changed).toBe(report!.sample.records);
    expect(report!.fields.map(({ field }) => field)).toContain('attributes["a"]');
    expect(JSON.stringify(report)).not.toMatch(/hunter2/);
    expect(agent.agent.output.stderr).not.toMatch(/hunter2/);
  });

  it("opens no port and writes nothing that the new config names", async () => {
    const agent = await startRehearsedAgent();
    const port = await freePort();
    const written = join(agent.folder, "exported.json");
    const text = readFileSync(agent.file, "utf8")
      .replace("receivers: {", `receivers: {zipkin: {endpoint: "127.0.0.1:${port}"}, `)
      .replace("exporters: {", `exporters: {file: {path: ${written}}, `)
      .replace("receivers: [otlp]", "receivers: [otlp, zipkin]")
      .replace("pipelines: {logs:", "pipelines: {traces: {receivers: [zipkin], exporters: [file]}, logs:")
      .replace("receivers: [otlp, zipkin]", "receivers: [otlp]")
      .replace("exporters: [otlp_http]", "exporters: [otlp_http, file]");
    writeFileSync(agent.file, text);
    await agent.request("POST", "/config/rehearsal", { seconds: 2, share: 1 });
    const [ended, isOpen] = await Promise.all([agent.reached("done", "failed"), isEverOpen(port, agent)]);
    expect([ended.state, ended.error, ended.problems.filter(({ severity }) => severity === "error")]).toEqual([
      "done",
      undefined,
      [],
    ]);
    expect(isOpen).toBe(false);
    expect(existsSync(written)).toBe(false);
    expect(ended.report!.total.new).toBe(ended.report!.sample.records);
  });

  it("reports a config that is invalid, half written or gone at once", async () => {
    const agent = await startRehearsedAgent();
    for (const text of ["receivers: {nosuch: ", "receivers: {nosuch: }", ""]) {
      writeFileSync(agent.file, text);
      const { state, error, problems } = await agent.rehearse({ seconds: 3600 });
      expect([text, state, error]).toEqual([text, "failed", "the config has errors"]);
      expect(problems.length).toBeGreaterThan(0);
    }
  });

  it("is given up when the config is reloaded during the rehearsal, and refuses to reload files that nobody rehearsed", async () => {
    const agent = await startRehearsedAgent();
    const changed = { processors: "attributes: {actions: [{key: a, value: b, action: insert}]}", use: "attributes" };
    agent.write(changed);
    await agent.request("POST", "/config/rehearsal", { seconds: 3, share: 1 });
    await expect.poll(async () => (await agent.reached("sampling")).sample.batches).toBeGreaterThan(0);
    expect((await agent.request("POST", "/config/reload", {})).body.outcome).toBe("applied");
    expect(await agent.reached("failed", "done")).toMatchObject({
      state: "failed",
      error: expect.stringContaining("reloaded during the rehearsal"),
    });
    agent.write({});
    const { generation } = await agent.rehearse();
    agent.write({ processors: changed.processors.replace("value: b", "value: c"), use: "attributes" });
    const { status, body } = await agent.request("POST", "/config/reload", { expected: generation.after });
    expect([status, body.error.message]).toEqual([409, expect.stringContaining("changed since the rehearsal")]);
    agent.write({});
    const again = await agent.request("POST", "/config/reload", { expected: generation.after });
    expect([again.status, again.body.outcome]).toEqual([200, "applied"]);
  });
});

describe("a plugin that speaks to the agent over the pipe of the rehearsal", () => {
  it("cannot make it believe in anything but the end of the rehearsal", async () => {
    const agent = await startRehearsedAgent();
    const lines = [
      '{"loaded":{"generation":"x","problems":[],"changedPlugins":[]}}',
      '{"progress":0.5}',
      "null",
      "no JSON",
    ];
    const code = `import { writeSync } from "node:fs";\nwriteSync(3, ${JSON.stringify(`${lines.join("\n")}\n`)});\n`;
    const plugin = writePlugin(agent, "talks.mjs", `${code}${processor("")}`);
    agent.write({ top: `plugins: [${plugin}]`, processors: "bad: {}", use: "bad" });
    const { state, report } = await agent.rehearse();
    expect([state, report]).toEqual(["failed", undefined]);
    await expect.poll(() => childrenOf(agent.agent.child.pid!)).toEqual([]);
  });

  it("ends the rehearsal alone when it takes all memory, or exits", async () => {
    const agent = await startRehearsedAgent();
    const hog =
      "globalThis.kept = []; for (;;) { globalThis.kept.push(Buffer.alloc(64 << 20, 1)); await new Promise((r) => setTimeout(r)); }";
    for (const [work, error] of [
      [hog, /too much memory/],
      ["process.exit(0)", /ended early/],
    ] as const) {
      const plugin = writePlugin(agent, "dies.mjs", processor(work));
      agent.write({ top: `plugins: [${plugin}]`, processors: "bad: {}", use: "bad" });
      expect(await agent.rehearse()).toMatchObject({ state: "failed", error: expect.stringMatching(error) });
    }
    expect((await agent.request("GET", "/agent")).body.state).toBe("ready");
  });
});

describe("the roles of a rehearsal", () => {
  it("shows no values of records without reveal, and starts none without configure", async () => {
    const tokens = ["view", "configure"].map(
      (role) => `{name: ${role}, token: token-of-${role}-role, roles: [view, ${role}]}`,
    );
    const agent = await startRehearsedAgent({ tokens: tokens.join(", ") });
    agent.write({
      processors: `filter: {logs: {log_record: ['body == "drop"']}}, attributes: {actions: [{key: a, value: b, action: insert}]}`,
      use: "filter, attributes",
    });
    const asViewer = (method: string, body?: object) =>
      agent.request(method, "/config/rehearsal", body, "token-of-view-role");
    expect((await asViewer("POST", {})).status).toBe(403);
    expect((await asViewer("DELETE")).status).toBe(403);
    const asConfigurer = await agent.request(
      "POST",
      "/config/rehearsal",
      { seconds: 1, share: 1 },
      "token-of-configure-role",
    );
    expect([asConfigurer.status, asConfigurer.body.rehearsal.by]).toEqual([202, "configure"]);
    const { records } = (await agent.request("GET", "/audit?action=rehearse")).body;
    expect(records).toMatchObject([{ actor: "configure", filter: { seconds: 1, share: 1 }, outcome: "done" }]);
    const whole = await agent.reached("done");
    expect(whole.report!.examples.length).toBeGreaterThan(0);
    const { report } = (await asViewer("GET")).body.rehearsal;
    expect(report.examples).toEqual([]);
    expect(report.fields.flatMap(({ examples }: { examples: object[] }) => examples)).toEqual([]);
    expect(report.total).toEqual(whole.report!.total);
  });
});

/** Tries to connect until the rehearsal is over. */
async function isEverOpen(port: number, agent: RehearsedAgent): Promise<boolean> {
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
      socket.on("close", () => socket.destroy());
    });
    if (isOpen) return true;
    const { state } = (await agent.request("GET", "/config/rehearsal")).body.rehearsal;
    if (state === "done" || state === "failed") return false;
  }
}
