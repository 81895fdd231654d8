import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import type { RemoteConfigFile } from "../../../../src/runtime/contract/operations/config-control.js";
import { RemoteSources } from "../../../../src/runtime/host/reload/remote-sources.js";
import { builtins } from "../../../support/builtins.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

const own = (directory: string, allow: string) => `
extensions:
  opamp:
    server: { ws: { endpoint: "ws://127.0.0.1:1", auth: { authenticator: bearertokenauth } } }
    capabilities: { accepts_remote_config: true }
    storage: { directory: ${JSON.stringify(directory)} }
  bearertokenauth: { token: own }
receivers: { otlp: { protocols: { http: null } } }
exporters: { nop: null }
service:
  extensions: [opamp, bearertokenauth]
  pipelines: { logs: { receivers: [otlp], exporters: [nop] } }
  ${allow}
`;
const registry = new Registry(builtins);

function sources(directory = temporaryFolder(), allow = "") {
  const load = async (files: readonly RemoteConfigFile[]) =>
    loadConfig({ sources: [{ text: own(directory, allow), name: "own.yaml" }, ...files], registry });
  return { remote: new RemoteSources(load), directory };
}

function keep(directory: string, text: string): void {
  mkdirSync(join(directory, "opamp"), { recursive: true });
  const applied = { hash: "aa", digest: "bb", files: [{ name: "remote config", text }] };
  writeFileSync(join(directory, "opamp", "remote-config.json"), JSON.stringify({ applied }));
}

const MORE = "service: { pipelines: { traces: { receivers: [otlp], exporters: [nop] } } }";
const pipelines = (loaded: { config?: { pipelines: readonly { id: string }[] } }) =>
  loaded.config?.pipelines.map(({ id }) => id).sort();

describe("the sources of a remote config", () => {
  it("are merged after the agent's own files from the start, if they were kept", async () => {
    const { remote, directory } = sources();
    expect(pipelines(await remote.loadFirst())).toEqual(["logs"]);
    keep(directory, MORE);
    expect(pipelines(await remote.loadFirst())).toEqual(["logs", "traces"]);
    expect(remote.startProblem).toBeUndefined();
  });

  it("are left out at the start when they do not fit any more", async () => {
    const { remote, directory } = sources();
    keep(directory, "service: { pipelines: { logs: { exporters: [gone] } } }");
    expect(pipelines(await remote.loadFirst())).toEqual(["logs"]);
    expect(remote.startProblem).toMatch(/^remote config:1:45 service.pipelines.logs.exporters/);
    expect(pipelines(await remote.load())).toEqual(["logs"]);
  });

  it.each([
    ["change", "extensions: { opamp: { server: { ws: { endpoint: ws://evil } } } }"],
    ["remove", "service: { extensions: [] }"],
    ["change the credentials of", "extensions: { bearertokenauth: { token: other } }", "bearertokenauth, which gives"],
    ["remove the credentials of", "service: { extensions: [opamp] }", "bearertokenauth"],
  ])("cannot %s the extension that takes them", async (_, text, problem = "opamp, which takes remote configs") => {
    const { remote } = sources();
    await remote.loadFirst();
    let loaded: Awaited<ReturnType<RemoteSources["load"]>> | undefined;
    remote.useReload(async ({ load }) => {
      loaded = await load();
      return {
        outcome: loaded.config ? "applied" : "invalid",
        problems: loaded.problems.map(({ severity, message }) => ({ severity, message })),
      };
    });
    const result = await remote.apply([{ name: "remote config", text }]);
    expect(result.isApplied).toBe(false);
    expect(result.problems.join()).toContain(problem);
    expect(loaded?.config).toBeUndefined();
    expect(pipelines(await remote.load())).toEqual(["logs"]);
  });

  it("stay as they were when a reload fails, whatever it does", async () => {
    const { remote } = sources();
    await remote.loadFirst();
    remote.useReload(async ({ onUsed }) => {
      onUsed();
      return { outcome: "applied", problems: [] };
    });
    expect(await remote.apply([{ name: "remote config", text: MORE }])).toEqual({ isApplied: true, problems: [] });
    remote.useReload(async () => ({
      outcome: "rolled_back",
      problems: [
        { severity: "error", message: "port in use", place: "remote config:1:1" },
        { severity: "warning", message: "unused" },
      ],
    }));
    const failed = await remote.apply([{ name: "remote config", text: "receivers: null" }]);
    expect(failed).toEqual({ isApplied: false, problems: ["remote config:1:1: port in use"] });
    remote.useReload(async () => Promise.reject(new Error("bug")));
    expect(await remote.apply([])).toEqual({ isApplied: false, problems: ["Error: bug"] });
    expect(pipelines(await remote.load())).toEqual(["logs", "traces"]);
  });

  const refused = async (remote: RemoteSources, text: string) => {
    let problems: readonly string[] = [];
    remote.useReload(async ({ load }) => {
      const loaded = await load();
      problems = loaded.problems.filter(({ code }) => code === "remote_privilege").map(({ path }) => path ?? "");
      const shown = loaded.problems.map(({ severity, message }) => ({ severity, message }));
      return { outcome: loaded.config === undefined ? "failed" : "applied", problems: shown };
    });
    const applied = await remote.apply([{ name: "remote config", text }]);
    if (problems.length === 0) expect(applied).toEqual({ isApplied: true, problems: [] });
    else expect(applied.isApplied).toBe(false);
    return problems;
  };
  const withPipeline = (config: string, { receiver = "otlp", exporter = "nop" }) =>
    `${config}\nservice: { pipelines: { logs/more: { receivers: [${receiver}], exporters: [${exporter}] } } }`;

  const PROGRAM = withPipeline('receivers: { journald: { Journalctl_Path: "./evil" } }', { receiver: "journald" });
  const FILE = withPipeline("exporters: { file: { path: /etc/cron.d/evil } }", { exporter: "file" });
  const TOKEN = `extensions: { admin: { endpoint: "127.0.0.1:0", tokens: [{ name: evil, token: "0123456789abcdef", roles: [configure] }] } }
service: { extensions: [opamp, bearertokenauth, admin] }`;

  it.each([
    ["names a program", PROGRAM, "receivers.journald.journalctl_path"],
    ["names a file to write", FILE, "exporters.file.path"],
    ["plants a token", TOKEN, "extensions.admin.tokens"],
    [
      "opens a port to others",
      "receivers: { otlp: { protocols: { http: { endpoint: 0.0.0.0:4318 } } } }",
      "receivers.otlp.protocols.http.endpoint",
    ],
    [
      "shows the agent's metrics to others",
      "service: { telemetry: { metrics: { address: 0.0.0.0:8888 } } }",
      "service.telemetry.metrics",
    ],
    ["allows itself more", "service: { allow: ['*'] }", "service.allow"],
    [
      "starts receivers by rules",
      withPipeline(
        "receivers: { receiver_creator: { watch_observers: [], receivers: { journald: { rule: 'type == \"port\"', config: { journalctl_path: ./evil } } } } }",
        { receiver: "receiver_creator" },
      ),
      "receivers.receiver_creator.receivers",
    ],
  ])("are refused when one %s, until the agent's own files allow it", async (_, text, path) => {
    expect(await refused(sources().remote, text)).toEqual([path]);
    const key = path.replace(/^(receivers|exporters|extensions)\./, "");
    expect(await refused(sources(undefined, `allow: ["${key}"]`).remote, text)).toEqual([]);
    expect(await refused(sources(undefined, "allow: ['*']").remote, text)).toEqual([]);
  });

  it("may change everything else", async () => {
    const text = withPipeline(
      "receivers: { file_log: { include: [/var/log/*.log] } }\nexporters: { otlp_http: { endpoint: https://backend.example } }",
      { receiver: "file_log", exporter: "otlp_http" },
    );
    expect(await refused(sources().remote, text)).toEqual([]);
  });
});
