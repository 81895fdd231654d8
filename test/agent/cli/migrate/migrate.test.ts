import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { builtins } from "../../../../src/agent/builtins/builtins.js";
import { migrateText } from "../../../../src/agent/cli/migrate/migrate-text.js";
import { loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { runs } from "../../../support/runs.js";
import { runCli } from "../terminal.js";
import { NEW, OLD } from "./fixtures.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-migrate-"));
afterAll(() => rmSync(folder, { recursive: true }));

const registry = new Registry(await builtins());
const load = (text: string) => loadConfig({ sources: [{ text, name: "c.yaml" }], registry, addDefaults: true });
const migrated = (text: string) => migrateText(text, load);
let files = 0;

function file(text: string | Buffer, mode = 0o640): string {
  const path = join(folder, `${++files}.yaml`);
  writeFileSync(path, text, { mode });
  return path;
}

/** A config that runs, around parts of old. */
function config(parts: {
  exporters?: string;
  receivers?: string;
  extensions?: string;
  service?: string;
  ends?: string;
}) {
  const { exporters = "  debug:", receivers = "", extensions = "", service = "", ends = "[debug]" } = parts;
  return `receivers:
  otlp: {protocols: {grpc: }}
${receivers}
exporters:
${exporters}
extensions:
${extensions}
service:
${service}
  pipelines:
    logs:
      receivers: [otlp]
      exporters: ${ends}
`;
}

describe("sluice migrate", () => {
  it("gives types and keys their names of today, and keeps comments, quotes, order and variables", () => {
    expect(migrated(OLD).text).toBe(NEW);
    expect(migrated(NEW)).toMatchObject({ text: NEW, remarks: [] });
    expect(load(NEW).config).toBeDefined();
  });

  it("puts OTLP in place of the exporter of a vendor who takes it, with the old keys", () => {
    const exporters = `  honeycomb/eu: # ours
    api_key: "\${env:KEY:-k}"
    retry_on_failure: { enabled: false }
  newrelic: {}
  debug:`;
    const { text, remarks, loaded } = migrated(config({ exporters, ends: "[honeycomb/eu, debug]" }));
    expect(text).toBe(
      config({
        exporters: `  otlp_http/honeycomb-eu: {endpoint: "https://api.honeycomb.io", headers: {x-honeycomb-team: "\${env:KEY:-k}"}, retry_on_failure: {enabled: false}}
  newrelic: {}
  debug:`,
        ends: "[otlp_http/honeycomb-eu, debug]",
      }),
    );
    expect(loaded.config).toBeDefined();
    expect(remarks).toEqual([
      {
        action: "renamed",
        path: "exporters.honeycomb/eu",
        message: "honeycomb/eu is otlp_http/honeycomb-eu: the vendor accepts OTLP",
      },
      { action: "left", path: "exporters.newrelic", message: expect.stringContaining('api-key: "<apikey>"') },
    ]);
    expect(migrated(text).text).toBe(text);
  });

  it("shows the difference and what it did, and writes nothing", async () => {
    const path = file(OLD);
    const { code, out, err } = await runCli(["migrate", path]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(`--- ${path}\n+++ ${path}\n@@ -3,52 +3,46 @@\n`);
    expect(out).toContain("-  logging:\n-    loglevel: debug # all of it\n");
    expect(out).toContain("+  debug:\n+    verbosity: detailed # all of it\n");
    expect(out).toContain("renamed: exporters.otlphttp/backend: otlphttp/backend is otlp_http/backend\n");
    expect(out).toContain("removed: extensions.memory_ballast: Node.js needs no ballast");
    expect(out).toContain("--write");
    expect(readFileSync(path, "utf8")).toBe(OLD);
    expect(existsSync(`${path}.bak`)).toBe(false);
  });

  it("shows no secret", async () => {
    const { out } = await runCli(["migrate", file(OLD)]);
    const json = await runCli(["migrate", file(OLD), "--json"]);
    for (const text of [out, json.out]) {
      expect(text).toContain("[REDACTED]");
      expect(text).not.toContain("abc-secret-123");
    }
  });

  it("writes the file on request, keeps the old text next to it, and changes nothing the second time", async () => {
    const path = file(OLD);
    expect(await runCli(["migrate", path, "--write"])).toMatchObject({ code: 0, err: "" });
    expect(readFileSync(path, "utf8")).toBe(NEW);
    expect(readFileSync(`${path}.bak`, "utf8")).toBe(OLD);
    expect(statSync(`${path}.bak`).mode & 0o777).toBe(statSync(path).mode & 0o777);
    const again = await runCli(["migrate", path, "--write"]);
    expect(again).toMatchObject({ code: 0, out: `${path} uses current names: nothing to change.\n`, err: "" });
  });

  it("overwrites no older backup, and leaves the file as it is then", async () => {
    const path = file(OLD);
    writeFileSync(`${path}.bak`, "precious");
    const { code, err } = await runCli(["migrate", path, "--write"]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("was not written") });
    expect([readFileSync(path, "utf8"), readFileSync(`${path}.bak`, "utf8")]).toEqual([OLD, "precious"]);
  });

  it("writes through a link, and keeps a byte order mark and line breaks of Windows", async () => {
    const windows = (text: string) => `\ufeff${text.replaceAll("\n", "\r\n")}`;
    const path = file(windows(OLD));
    symlinkSync(path, `${path}.link`);
    expect(await runCli(["migrate", `${path}.link`, "--write"])).toMatchObject({ code: 0 });
    expect(readFileSync(path, "utf8")).toBe(windows(NEW));
    expect(lstatSync(`${path}.link`).isSymbolicLink()).toBe(true);
  });

  it("writes no file that is not UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from("# caf\xe9\n", "latin1"), Buffer.from(OLD)]);
    const path = file(bytes);
    expect(await runCli(["migrate", path, "--write"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("UTF-8"),
    });
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  it("prints JSON for programs", async () => {
    const { code, out } = await runCli(["migrate", file(OLD), "--json"]);
    const report = JSON.parse(out);
    expect(code).toBe(0);
    expect(report).toMatchObject({ changed: true, written: false });
    expect(report.remarks).toContainEqual({ action: "renamed", path: "exporters.otlp", message: "otlp is otlp_grpc" });
    expect(report.problems.filter(({ severity }: { severity: string }) => severity === "error")).toEqual([]);
  });

  it.each([
    ["broken YAML", "receivers: [", "is not closed"],
    ["an empty file", "", "the config is empty"],
    ["a list", "- a", "expected a map"],
  ])("says what is wrong with %s, with 1", async (_, text, words) => {
    expect(await runCli(["migrate", file(text), "--write"])).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining(words),
    });
  });

  it("reports a missing file and asks for another", async () => {
    const missing = join(folder, "missing.yaml");
    expect(await runCli(["migrate", missing])).toMatchObject({ code: 1, err: expect.stringContaining("no such file") });
    expect(await runCli(["migrate"])).toMatchObject({ code: 2 });
  });

  it("mends what it can where something else is wrong, and says that with 1", async () => {
    const path = file(config({ exporters: "  logging: {verbosty: basic}", ends: "[logging]" }));
    const { code, out, err } = await runCli(["migrate", path]);
    expect(code).toBe(1);
    expect(out).toContain("+  debug: {verbosty: basic}");
    expect(err).toContain('did you mean "verbosity"?');
  });
});

describe("what is left as it is", () => {
  it.each([
    [
      "a name that would be taken",
      config({ exporters: "  debug:\n  logging:", ends: "[debug, logging]" }),
      "there is a debug too",
    ],
    [
      "a name that a variable may hold",
      config({ exporters: "  logging:", ends: `["\${env:TO:-logging}"]` }),
      "variable",
    ],
    ["lists that a variable may hold", config({ exporters: "  logging:", ends: `\${env:TO:-[logging]}` }), "variable"],
    ["the only receiver of a pipeline", OLD.replace("[opencensus, otlp]", "[opencensus]"), "has nothing else"],
    [
      "the only exporter of a pipeline",
      config({ exporters: "  opencensus: {endpoint: x}", ends: "[opencensus]" }),
      "has nothing else",
    ],
  ])("is %s", (_, text, words) => {
    const { remarks, text: after } = migrated(text);
    const left = remarks.filter(({ action }) => action === "left");
    expect(left).toEqual([expect.objectContaining({ message: expect.stringContaining(words) })]);
    expect(after).toContain(left[0]!.path.split(".")[1]!);
  });

  it("is file_storage, a newer spelling, and all that is of today", () => {
    const text = config({
      extensions: "  file_storage:\n  basic_auth/a: {client_auth: {username: a, password: b}}",
      service: "  extensions: [file_storage, basic_auth/a]",
    });
    expect(migrated(text)).toMatchObject({ text, remarks: [] });
  });

  it("is a value that has to be another word and comes from a variable", () => {
    const text = config({ exporters: `  debug: {loglevel: '\${env:LEVEL:-debug}'}` });
    expect(migrated(text).text).toBe(text);
  });
});

describe("odd texts", () => {
  it.each([
    [
      "a component whose anchor others use",
      "  logging: &a {verbosity: normal}\n  debug/x: *a",
      "[logging, debug/x]",
      "  debug: &a {verbosity: normal}\n  debug/x: *a",
      "[debug, debug/x]",
    ],
    ["blanks around the slash", "  logging / x:", "[ 'logging / x', ]", "  debug / x:", "[ 'debug / x', ]"],
    [
      "a name that holds its type again",
      "  otlphttp/otlphttp: {endpoint: 'http://a:1'}",
      "[otlphttp/otlphttp]",
      "  otlp_http/otlphttp: {endpoint: 'http://a:1'}",
      "[otlp_http/otlphttp]",
    ],
    [
      "a list over several lines with comments",
      "  logging:",
      "[\n        # first\n        logging, # here\n      ]",
      "  debug:",
      "[\n        # first\n        debug, # here\n      ]",
    ],
  ])("%s", (_, exporters, ends, newExporters, newEnds) => {
    const { text, loaded } = migrated(config({ exporters, ends }));
    expect(text).toBe(config({ exporters: newExporters, ends: newEnds }));
    expect(loaded.config).toBeDefined();
  });

  it("takes out no component whose anchor others use", () => {
    const text = config({
      extensions: "  pprof: &e {}\n  health_check: *e",
      service: "  extensions: [pprof, health_check]",
    });
    expect(migrated(text)).toMatchObject({ text, remarks: [{ action: "left", path: "extensions.pprof" }] });
  });

  it("removes a component that comes last, has no line break, or is followed by a comment", () => {
    const at = (last: string) => `${config({})}\n# end\nprocessors:\n  batch:${last}`;
    expect(migrated(at("\n  queued_retry: {a: 1}")).text).toBe(at("\n"));
    expect(migrated(at("\n  queued_retry:\n    a: |\n      b\n\n  # kept\n")).text).toBe(at("\n\n  # kept\n"));
  });

  it.each([
    ["a merge key", `x: &x {debug: }\n${config({ exporters: "  <<: *x\n  logging:", ends: "[debug, logging]" })}`],
    ["a path as a key", `exporters::debug:\n${config({ exporters: "  logging:", ends: "[debug, logging]" })}`],
  ])("takes no name that %s has", (_, text) => {
    expect(migrated(text)).toMatchObject({
      text,
      remarks: [{ action: "left", message: expect.stringContaining("there is a debug too") }],
    });
  });

  it("renames nothing that is named where it cannot see it", () => {
    for (const name of ["logging", "stdout"]) {
      const text = `${config({ exporters: `  ${name}:\n  debug/x:`, ends: "[debug/x]" })}service::pipelines::traces: {receivers: [otlp], exporters: [${name}]}\n`;
      expect(migrated(text)).toMatchObject({ text, remarks: [{ action: "left" }] });
    }
  });

  it.each([
    [
      "hide one that is merged",
      "  otlp_http/a: &a {endpoint: 'http://a:1', tls: {ca_file: x}}\n  otlp_http/b: {<<: *a, insecure: true}",
    ],
    [
      "be hidden by another",
      "  otlp_http/a: &a {endpoint: 'http://a:1', ca_file: x}\n  otlp_http/b: {<<: *a, tls: {insecure: true}}",
    ],
  ])("makes no section that would %s", (_, exporters) => {
    const text = config({ exporters, ends: "[otlp_http/a, otlp_http/b]" });
    expect(migrated(text).text).toBe(text);
  });

  it("changes nothing in other files, or in the text where their content would be", async () => {
    // The old key of the part stands in the line and column of a good one of the whole.
    const part = file("#\n#\n#\n#\n#\n      endpoint: http://a:1\n      secure: false\n");
    const exporters = `exporters:
  debug:
  otlp_http: \${file:${part}}
  otlp_http/b:
    endpoint: http://b:1
    tls:
      insecure: true
`;
    const text = exporters + config({ ends: "[otlp_http, otlp_http/b]" }).replace("exporters:\n  debug:\n", "");
    const path = file(text);
    expect(await runCli(["migrate", path, "--write"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("it became"),
    });
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(readFileSync(part, "utf8")).toContain("secure: false");
  });

  it("changes nothing in a second document, nor in words that only look like a name", () => {
    const text = `${config({ exporters: "  debug: # logging" })}---\nexporters: {logging: }\n`;
    expect(migrated(text)).toMatchObject({ text, remarks: [] });
  });

  it("renames the component that is meant and nothing beside it", () => {
    const text = `receivers: {otlp: {protocols: {grpc: }}}
exporters: {logging: , debug/x: }
connectors: {forward: }
service:
  pipelines:
    logs: {receivers: [otlp], exporters: [forward]}
    logs/2: {receivers: [forward], exporters: [logging, debug/x]}
`;
    expect(migrated(text).text).toBe(text.replaceAll("logging", "debug"));
  });
});

describe("how keys are rewritten", () => {
  it.each([
    ["{endpoint: 'http://a:1', insecure: true}", "{endpoint: 'http://a:1', tls: {insecure: true}}"],
    [
      "{endpoint: 'http://a:1', tls_settings: {insecure: true}, compression: gzip}",
      "{endpoint: 'http://a:1', tls: {insecure: true}, compression: gzip}",
    ],
    [
      "\n    url: http://a:1\n    tls:\n      # theirs\n      ca_file: a\n    insecure_skip_verify: true",
      "\n    endpoint: http://a:1\n    tls:\n      # theirs\n      insecure_skip_verify: true\n      ca_file: a",
    ],
    [
      "\n    endpoint: http://a:1\n    queue:\n      queue_size: 7\n    retry: {enabled: false}",
      "\n    endpoint: http://a:1\n    sending_queue:\n      queue_size: 7\n    retry_on_failure: {enabled: false}",
    ],
    [
      "\n    endpoint: http://a:1\n    num_workers: 3\n    queue_size: 9",
      "\n    endpoint: http://a:1\n    sending_queue:\n      queue_size: 9\n      num_consumers: 3",
    ],
    ["\n    endpoint: http://a:1\n    secure: false", "\n    endpoint: http://a:1\n    tls:\n      insecure: true"],
  ])("%j becomes %j", (before, after) => {
    const at = (settings: string) => config({ exporters: `  otlp_http: ${settings}`, ends: "[otlp_http]" });
    const result = migrated(at(before));
    expect(result.text).toBe(at(after));
    expect(result.loaded.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  });

  it("lists of several lines go with their key", () => {
    const at = (http: string) => config({}).replace("{protocols: {grpc: }}", `\n    protocols:\n      http:\n${http}`);
    const before = at("        cors_allowed_origins:\n        - http://a\n        # and\n        - http://b");
    const after = at(
      "        cors:\n          allowed_origins:\n          - http://a\n          # and\n          - http://b",
    );
    expect(migrated(before).text).toBe(after);
  });

  it("the address of the agent's own metrics becomes a reader", () => {
    const at = (metrics: string) =>
      config({ service: `  telemetry:\n    metrics:\n      level: basic\n      ${metrics}` });
    const after = at('readers: [{pull: {exporter: {prometheus: {host: "0.0.0.0", port: 8899}}}}]');
    expect(migrated(at("address: 0.0.0.0:8899")).text).toBe(after);
    expect(load(after).config).toBeDefined();
    const unclear = at(`address: \${env:AT:-127.0.0.1:8899}`);
    expect(migrated(unclear)).toMatchObject({ text: unclear, remarks: [{ action: "left" }] });
  });

  it("the port of health_check becomes an endpoint, in a section of its own or in brackets", () => {
    const at = (key: string) => config({ extensions: `  health_check: {${key}}` });
    expect(migrated(at("port: 13144")).text).toBe(at("endpoint: 127.0.0.1:13144"));
  });

  it("references in authenticators and through anchors follow", () => {
    const text = config({
      exporters: "  otlphttp: {endpoint: 'http://a:1', auth: {authenticator: headerssetter}}",
      extensions: "  headerssetter: {headers: [{key: a, value: b}]}",
      service: "  extensions: [headerssetter]",
      ends: "&to [otlphttp]\n    traces: {receivers: [otlp], exporters: *to}",
    });
    const { text: after, loaded } = migrated(text);
    expect(after).toBe(text.replaceAll("headerssetter", "headers_setter").replaceAll("otlphttp", "otlp_http"));
    expect(loaded.config).toBeDefined();
  });
});

describe("laws of migration", () => {
  const names = { otlphttp: "otlp_http", logging: "debug", otlp: "otlp_grpc", debug: "debug", otlp_http: "otlp_http" };
  const exporter = fc.record({
    type: fc.constantFrom(...(Object.keys(names) as (keyof typeof names)[])),
    name: fc.constantFrom("", "/a", "/b"),
    isQuoted: fc.boolean(),
    isFlow: fc.boolean(),
    comment: fc.constantFrom("", " # logging otlphttp", "  #"),
  });
  const ended = fc.subarray(["memory_ballast", "pprof", "pprof/x"]);
  const texts = fc
    .record({
      exporters: fc.uniqueArray(exporter, { minLength: 1, maxLength: 6, selector: (e) => names[e.type] + e.name }),
      ended,
      isFlow: fc.boolean(),
    })
    .map(({ exporters, ended, isFlow }) => {
      const list = (ids: string[]) =>
        isFlow || ids.length === 0 ? `[${ids.join(", ")}]` : ids.map((id) => `\n    - ${id} # here`).join("");
      const settings = (type: string) =>
        names[type as keyof typeof names] === "debug" ? "loglevel: info" : "endpoint: http://a:1";
      return {
        ids: exporters.map((e) => names[e.type] + e.name),
        text: `receivers: {otlp: {protocols: {grpc: }}}
exporters:
${exporters.map((e) => `  ${e.isQuoted ? `"${e.type}${e.name}"` : e.type + e.name}:${e.isFlow ? ` {${settings(e.type)}}` : `${e.comment}\n    ${settings(e.type)}`}`).join("\n")}
extensions:
${ended.map((id) => `  ${id}:`).join("\n")}
service:
  extensions: ${list(ended)}
  pipelines:
   logs:
    receivers: [otlp]
    exporters: ${list(exporters.map((e) => (e.isQuoted ? `'${e.type}${e.name}'` : e.type + e.name)))}
`,
      };
    });

  it("twice is once, the same runs, and less is said of it", () => {
    fc.assert(
      fc.property(texts, ({ text, ids }) => {
        const before = load(text);
        const once = migrated(text);
        expect(before.config).toBeDefined();
        expect(migrated(once.text)).toMatchObject({ text: once.text, remarks: [] });
        const { config, problems } = load(once.text);
        expect([...config!.exporters.keys()]).toEqual(ids);
        const plain = (exporters: typeof config) =>
          [...exporters!.exporters.values()].map(({ factory, settings }) => [factory.type, settings]);
        expect(JSON.stringify(plain(config))).toBe(JSON.stringify(plain(before.config)));
        expect(problems.length).toBeLessThanOrEqual(before.problems.length);
        const comments = (all: string) => all.match(/#.*/g)?.filter((c) => c !== "# here") ?? [];
        expect(comments(once.text)).toEqual(comments(text));
      }),
      runs(30),
    );
  });

  it("never throws, and applying it twice changes nothing more", () => {
    const word = fc.constantFrom(
      "exporters:",
      "  logging:",
      "  otlphttp: {",
      "}",
      "[",
      "]",
      "service:",
      "  pipelines: &a",
      "*a",
      "- logging",
      "\n",
      "    insecure: true",
      "    tls:",
      " # c",
      "receivers: {otlp: }",
      "  opencensus:",
      "? ",
      "|",
      "\t",
      "    logs: {receivers: [opencensus], exporters: [logging,]}",
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 25 }), fc.constantFrom("", "\n"), (words, between) => {
        const once = migrated(words.join(between));
        expect(migrated(once.text).text).toBe(once.text);
      }),
      runs(60),
    );
  });
});
