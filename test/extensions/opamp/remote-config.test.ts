import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { opamp } from "../../../src/extensions/opamp/component.js";
import type { RemoteConfigControl, RemoteConfigFile } from "../../../src/runtime/contract/operations/config-control.js";
import { FakeClock } from "../../support/fake-clock.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";
import { fakeHost, startOpamp } from "./harness.js";
import { startOpampServer } from "./opamp-server.js";
import { int, proto, sub, text } from "./proto.js";

const CONFIG = "exporters: { debug: null }\nservice: { extensions: [health_check] }\n";

const offer = (hash: string, files: Record<string, string | Uint8Array>, type = "text/yaml") =>
  proto([
    3,
    proto(
      [
        1,
        proto(
          ...Object.entries(files).map(
            ([name, body]) => [1, proto([1, name], [2, proto([1, body], [2, type])])] as const,
          ),
        ),
      ],
      [2, hash],
    ),
  ]);

/** An agent that notes the configs it is given, and takes those in which nothing is called broken. */
function fakeControl() {
  const applied: (readonly RemoteConfigFile[])[] = [];
  const control: RemoteConfigControl = {
    async apply(files) {
      applied.push(files);
      const isApplied = !files.some(({ text: yaml }) => yaml.includes("broken"));
      return { isApplied, problems: isApplied ? [] : ["remote.yaml:1:1: broken is no receiver"] };
    },
  };
  return { applied, control };
}

async function start(options: { directory?: string; keys?: object; startProblem?: string; clock?: FakeClock } = {}) {
  const server = await startOpampServer();
  const { applied, control } = fakeControl();
  const host = fakeHost();
  host.remoteConfig = { ...control, startProblem: options.startProblem };
  const { directory = temporaryFolder(), keys = { accepts_remote_config: true }, clock } = options;
  const written = { server: { ws: { endpoint: server.wsUrl } }, capabilities: keys };
  const started = await startOpamp(written, { host, directory, ...(clock && { clock }) });
  await until(() => expect(server.messages.length).toBeGreaterThan(0));
  const statuses = () =>
    server.messages
      .map(({ fields }) => sub(fields, 7))
      .filter((status) => status !== undefined)
      .map((status) => [text(status, 1), ["unset", "applied", "applying", "failed"][int(status, 2)], text(status, 3)]);
  const file = join(directory, "opamp", "remote-config.json");
  return { ...started, server, applied, statuses, file, directory };
}

describe("a remote config", () => {
  it("is applied, and the server is told so", async () => {
    const { server, applied, statuses, file } = await start();
    expect(int(server.messages[0]!.fields, 4) & 0x1002).toBe(0x1002);
    server.push(offer("h1", { "b.yaml": "receivers: { otlp: null }\n", "a.yaml": CONFIG }));
    await until(() =>
      expect(statuses()).toEqual([
        ["h1", "applying", ""],
        ["h1", "applied", ""],
      ]),
    );
    expect(applied).toEqual([
      [
        { name: 'remote config "a.yaml"', text: expect.stringContaining("[ health_check, opamp ]") },
        { name: 'remote config "b.yaml"', text: "receivers: { otlp: null }\n" },
      ],
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("that fails is reported with its problems, and applied once however often it is sent", async () => {
    const clock = new FakeClock();
    const { server, applied, statuses } = await start({ clock });
    server.answer = () => offer("bad", { "": "receivers: { broken: null }" });
    server.push(offer("bad", { "": "receivers: { broken: null }" }));
    await until(() => expect(statuses().at(-1)).toEqual(["bad", "failed", "remote.yaml:1:1: broken is no receiver"]));
    for (let i = 0; i < 20; i++) server.push(offer("bad", { "": "receivers: { broken: null }" }));
    // The same content under another hash: the outcome is known.
    server.push(offer("bad2", { "": "receivers: { broken: null }" }));
    server.answer = () => Buffer.alloc(0);
    await until(() => {
      clock.advance(100);
      expect(statuses().at(-1)).toEqual(["bad2", "failed", "remote.yaml:1:1: broken is no receiver"]);
    });
    expect(applied).toHaveLength(1);
  });

  it("that failed is not applied again after a restart, and the one before runs on", async () => {
    const directory = temporaryFolder();
    const clock = new FakeClock();
    const first = await start({ directory, clock });
    first.server.push(offer("good", { "": CONFIG }));
    await until(() => expect(first.statuses().at(-1)).toEqual(["good", "applied", ""]));
    clock.advance(5000);
    first.server.push(offer("bad", { "": "receivers: { broken: null }" }));
    await until(() => expect(first.statuses().at(-1)?.[1]).toBe("failed"));
    await first.extension.stop();

    const again = await start({ directory });
    expect(again.statuses()).toEqual([["bad", "failed", "remote.yaml:1:1: broken is no receiver"]]);
    again.server.push(offer("bad", { "": "receivers: { broken: null }" }));
    again.server.push(offer("good2", { "": "exporters: { debug: null }" }));
    await until(() => expect(again.statuses().at(-1)).toEqual(["good2", "applied", ""]));
    expect(again.applied).toHaveLength(1);
  });

  it("survives a restart, and is told about in the first message", async () => {
    const directory = temporaryFolder();
    const first = await start({ directory });
    first.server.push(offer("h1", { "": CONFIG }));
    await until(() => expect(first.statuses().at(-1)?.[1]).toBe("applied"));
    await first.extension.stop();
    const config = (capabilities: object) =>
      opamp.schema.parse({ server: { ws: { endpoint: "ws://localhost" } }, storage: { directory }, capabilities });
    const kept = await opamp.remoteConfig!(config({ accepts_remote_config: true }), "opamp");
    expect(kept).toEqual([{ name: "remote config", text: expect.stringContaining("debug") }]);
    expect(await opamp.remoteConfig!(config({}), "opamp")).toEqual([]);
    const again = await start({ directory });
    expect(again.statuses()).toEqual([["h1", "applied", ""]]);
  });

  it("that the agent could not start with is reported as failed", async () => {
    const directory = temporaryFolder();
    const first = await start({ directory });
    first.server.push(offer("h1", { "": CONFIG }));
    await until(() => expect(first.statuses().at(-1)?.[1]).toBe("applied"));
    await first.extension.stop();
    const again = await start({ directory, startProblem: "exporters.debug: no such type" });
    expect(again.statuses()).toEqual([["h1", "failed", "exporters.debug: no such type"]]);
  });

  it("without files removes the former one", async () => {
    const clock = new FakeClock();
    const { server, applied, statuses, file } = await start({ clock });
    server.push(offer("h1", { "": CONFIG }));
    await until(() => expect(statuses().at(-1)?.[1]).toBe("applied"));
    clock.advance(5000);
    server.push(offer("h2", { "": "" }));
    await until(() => expect(statuses().at(-1)).toEqual(["h2", "applied", ""]));
    expect(applied.at(-1)).toEqual([]);
    expect(JSON.parse(readFileSync(file, "utf8")).applied.files).toEqual([]);
  });

  it("waits while another was applied a moment ago, and only the last that waits is taken", async () => {
    const clock = new FakeClock();
    const { server, applied, statuses } = await start({ clock });
    for (let i = 0; i < 50; i++) server.push(offer(`h${i}`, { "": `exporters: { debug/${i}: null }` }));
    await until(() => expect(statuses().at(-1)?.[1]).toBe("applied"));
    clock.advance(5000);
    await until(() => expect(statuses().at(-1)).toEqual(["h49", "applied", ""]));
    expect(applied.length).toBeLessThanOrEqual(2);
  });

  it.each([
    ["braces", "{".repeat(1024 * 1024 - 1), "nested deeper than 200 levels"],
    ["lists in lists", "- ".repeat(500_000), "nested deeper than 200 levels"],
    ["commas", `a: [${",".repeat(1_000_000)}`, "more than 50000 YAML tokens"],
    ["escapes", `a: "${"\\q".repeat(500_000)}"`, "more than 50000 YAML tokens"],
  ])("of a million %s is refused before it is parsed", async (_name, body, problem) => {
    const { server, applied, statuses } = await start();
    server.push(offer("h1", { "a.yaml": body }));
    await until(() => expect(statuses().at(-1)?.slice(0, 2)).toEqual(["h1", "failed"]));
    expect(statuses().at(-1)?.[2]).toContain(problem);
    expect(applied).toEqual([]);
  });

  it("is not taken when the config does not allow it", async () => {
    const { server, applied, host } = await start({ keys: {} });
    expect(int(server.messages[0]!.fields, 4) & 0x1002).toBe(0);
    server.push(offer("h1", { "": CONFIG }));
    host.state = "draining";
    await until(() => expect(server.messages.length).toBeGreaterThan(1));
    expect(applied).toEqual([]);
  });

  it("is not taken by an agent that cannot reload", async () => {
    const server = await startOpampServer();
    const keys = { server: { ws: { endpoint: server.wsUrl } }, capabilities: { accepts_remote_config: true } };
    const { logged } = await startOpamp(keys);
    expect(logged.map(({ message }) => message).join()).toContain("accepts_remote_config has no effect");
    await until(() => expect(server.messages.length).toBeGreaterThan(0));
    expect(int(server.messages[0]!.fields, 4) & 0x1002).toBe(0);
  });

  it.each([
    ["of more than a megabyte", offer("h", { "": Buffer.alloc(1024 * 1024 + 1, "#") }), "at most 1048576 are accepted"],
    ["with plugins", offer("h", { "": "plugins: [./evil.js]" }), "has plugins, which a remote config cannot have"],
    [
      "with plugins in a merge key",
      offer("h", { "": "<<: { plugins: [./evil.js] }" }),
      "which a remote config cannot have",
    ],
    ["that is no map", offer("h", { "": "- a" }), "not a map of sections"],
    ["of another type", offer("h", { "a.bin": "x" }, "application/octet-stream"), "expected text/yaml"],
    [
      "with more files than can be read",
      offer("h", Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${i}`, "a: 1"]))),
      "cannot be read",
    ],
    ["of half a message", proto([3, Buffer.from([0x0a, 0xff])]), "cannot be read"],
  ])("%s is refused", async (_, message, error) => {
    const { server, applied, statuses } = await start();
    server.push(message);
    await until(() => expect(statuses().at(-1)?.[1]).toBe("failed"));
    expect(statuses().at(-1)?.[2]).toContain(error);
    expect(applied).toEqual([]);
  });

  it("whose outcome cannot be kept is reported as failed", async () => {
    const { server, statuses, directory } = await start();
    const { rmSync } = await import("node:fs");
    rmSync(join(directory, "opamp"), { recursive: true });
    writeFileSync(join(directory, "opamp"), "");
    server.push(offer("h1", { "": CONFIG }));
    await until(() => expect(statuses().at(-1)?.[1]).toBe("failed"));
    expect(statuses().at(-1)?.[2]).toContain("could not be kept");
  });
});
