import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import type { RemoteConfigFile } from "../../../../src/runtime/contract/operations/remote-config.js";
import { RemoteSources } from "../../../../src/runtime/host/reload/remote-sources.js";
import { builtins } from "../../../support/builtins.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

const own = (directory: string) => `
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
`;
const registry = new Registry(builtins);

function sources(directory = temporaryFolder()) {
  const load = async (files: readonly RemoteConfigFile[]) =>
    loadConfig({ sources: [{ text: own(directory), name: "own.yaml" }, ...files], registry });
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
});
