import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { GOOD, withExporter } from "../../runtime/config/load-text.js";
import { cli, runCli } from "./terminal.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const good = file("good.yaml", GOOD);
const bad = file("bad.yaml", withExporter("debug", "verbosity: detaled\ntimeout: 10"));

describe("the command line", () => {
  it.each([["--help"], ["-h"], ["help"]])("explains itself on %s", async (flag) => {
    const { code, out } = await cli([flag]);
    expect(code).toBe(0);
    expect(out).toContain("Usage: sluice <command>");
    for (const command of ["run", "validate", "components", "print-config"]) expect(out).toContain(`  ${command}`);
  });

  it.each(["run", "validate", "components", "print-config"])("explains %s, with examples", async (command) => {
    const help = await cli(["help", command]);
    expect(help).toMatchObject({ code: 0, out: expect.stringContaining(`Usage: sluice ${command}`) });
    expect(help.out).toContain("Examples:");
    expect(await cli([command, "--help"])).toEqual(help);
  });

  it.each(["run", "validate", "print-config"])(
    "shows that %s needs no --config where there is a sluice.yaml",
    async (command) => {
      expect((await cli(["help", command])).out).toContain(`Usage: sluice ${command} [--config FILE] [options]`);
    },
  );

  it.each(["--version", "-v"])("says its version on %s", async (flag) => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(await cli([flag])).toEqual({ code: 0, out: `${version}\n`, err: "" });
  });

  it.each([
    [[], "a command is missing"],
    [["vaildate"], 'unknown command "vaildate"; did you mean "validate"?'],
    [["help", "rum"], 'unknown command "rum"; did you mean "run"?'],
    [["--config", "x"], "unknown option --config; the command comes first"],
    [["validate"], "no config was given, and there is no sluice.yaml here; name one: --config pipeline.yaml, or write"],
    [["run"], "no config was given, and there is no sluice.yaml here; name one: --config pipeline.yaml, or write one"],
    [["validate", "--cnfig", "x"], "unknown option --cnfig; did you mean --config?"],
    [["validate", "--config"], "--config needs a value"],
    [["validate", "--json=yes", "--config", "x"], "--json takes no value"],
    [["validate", "x.yaml"], 'unexpected argument "x.yaml"; to name a config, write --config x.yaml'],
    [["run", "--config", "x", "--shutdown-timeout", "soon"], "--shutdown-timeout soon is not a duration"],
    [
      ["run", "--config", "x", "--shutdown-timeout", "10"],
      "--shutdown-timeout 10 is not a duration; write it with a unit: 10s, 1m",
    ],
    [["components", "bach"], 'there is no component "bach"; did you mean "batch"?'],
  ])("answers %j with what to do, and 2", async (args, message) => {
    const { code, out, err } = await cli(args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(`sluice: ${message}`);
    expect(err).toMatch(/See sluice .*--help\./);
  });
});

describe("sluice validate", () => {
  it("is content with a good config", async () => {
    const { code, out, err } = await cli(["validate", "--config", good]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("The config is valid");
  });

  it("accepts --feature-gates of the Collector with a word", async () => {
    const gates = ["--feature-gates=-component.UseLocalHostAsDefaultHost,a.b", "--feature-gates", "+c"];
    const { code, out, err } = await cli(["validate", "--config", good, ...gates]);
    expect({ code, err }).toEqual({
      code: 0,
      err: "sluice: --feature-gates has no effect: Sluice has no feature gates\n",
    });
    expect(out).toContain("The config is valid");
  });

  it("shows every problem with its line, a caret and the count, and ends with 1", async () => {
    const { code, out, err } = await cli(["validate", "-c", bad]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toBe(`error: expected "basic", "normal" or "detailed", got the text "detaled"
  at ${bad}:5:16  exporters.debug.verbosity
  5 |     verbosity: detaled
    |                ^
  did you mean "detailed"?

warning: a duration without a unit is in nanoseconds, as in the Collector
  at ${bad}:6:14  exporters.debug.timeout
  6 |     timeout: 10
    |              ^
  write 10ns for this, or 10s for seconds

1 error, 1 warning
`);
  });

  it("uses colour only when asked to", async () => {
    expect((await cli(["validate", "-c", bad], {}, true)).err).toContain("\x1b[31merror\x1b[0m");
    expect((await cli(["validate", "-c", bad])).err).not.toContain("\x1b[");
  });

  it("gives problems as JSON", async () => {
    const { code, out } = await cli(["validate", "-c", bad, "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      problems: [
        {
          severity: "error",
          code: "wrong_value",
          place: { line: 5, column: 16 },
          suggestion: 'did you mean "detailed"?',
        },
        { severity: "warning", code: "integer_duration" },
      ],
    });
  });

  it("merges several files and --set", async () => {
    const args = [
      "validate",
      "-c",
      bad,
      "--set",
      "exporters.debug.verbosity=basic",
      "--set",
      "exporters.debug.timeout=1s",
    ];
    expect((await cli(args)).code).toBe(0);
  });

  it("says that a file is not there", async () => {
    const { code, err } = await cli(["validate", "-c", join(folder, "none.yaml")]);
    expect(code).toBe(1);
    expect(err).toContain("there is no such file");
  });
});

describe("sluice components", () => {
  it("lists all keys of all components when asked to", async () => {
    const { out } = await cli(["components", "--full"]);
    expect(out).toContain("receiver otlp: logs, traces, metrics\n  Takes OTLP.\n");
    expect(out).toMatch(/ encoding +"proto" \| "json" \(default "proto"\)/);
  });

  it("has a short list, a line each, and the same as JSON", async () => {
    const { out } = await cli(["components"]);
    expect((await cli(["components", "--short"])).out).toBe(out);
    const [head, ...lines] = out.trimEnd().split("\n");
    expect(head).toMatch(/^KIND +TYPE +WHAT IT DOES$/);
    const shown = JSON.parse((await cli(["components", "--short", "--json"])).out) as { kind: string; type: string }[];
    expect(lines.map((line) => line.split(/ +/).slice(0, 2))).toEqual(shown.map(({ kind, type }) => [kind, type]));
    expect(shown.filter((each) => "keys" in each)).toEqual([]);
  });

  it("lists each component with its keys, types and defaults", async () => {
    const { out } = await cli(["components", "otlp", "otlphttp"]);
    expect(out).toContain("receiver otlp: logs, traces, metrics\n  Takes OTLP.\n");
    expect(out).toMatch(/protocols\.grpc\.endpoint +text \(default "localhost:4317"\) {2}host:port to listen on\./);
    expect(out).toMatch(/protocols\.grpc\.keepalive +anything \(no effect: connections are kept by Node\.js\)/);
    expect(out).toContain("exporter otlp_http (also otlphttp)");
    expect(out).toMatch(/ timeout +duration \(default "30s"\)/);
    expect(out).toMatch(/ encoding +"proto" \| "json" \(default "proto"\)/);
  });

  it("gives the same as JSON", async () => {
    const all = JSON.parse((await cli(["components", "--json"])).out) as {
      kind: string;
      type: string;
      keys: object[];
    }[];
    const debug = all.find(({ type }) => type === "debug");
    expect(debug).toMatchObject({
      kind: "exporter",
      aliases: ["logging"],
      summary: "Prints.",
      signals: ["logs", "traces", "metrics"],
    });
    expect(debug?.keys).toContainEqual({
      path: "verbosity",
      type: '"basic" | "normal" | "detailed"',
      required: false,
      default: "basic",
    });
    expect(debug?.keys).toContainEqual(
      expect.objectContaining({ path: "sending_queue.batch.flush_timeout", type: "duration" }),
    );
  });
});

describe("sluice print-config", () => {
  it("prints the merged config as YAML, or as JSON", async () => {
    const more = file("more.yaml", "exporters: {debug: {verbosity: normal}}");
    const args = ["print-config", "-c", good, "-c", more];
    const expected = { ...parse(GOOD), exporters: { debug: { verbosity: "normal" } } };
    expect(parse((await cli(args)).out)).toEqual(expected);
    expect(JSON.parse((await cli([...args, "--json"])).out)).toEqual(expected);
  });

  it("prints a config that is not valid too, with its problems on stderr", async () => {
    const { code, out, err } = await cli(["print-config", "-c", bad]);
    expect(code).toBe(1);
    expect(parse(out).exporters.debug.verbosity).toBe("detaled");
    expect(err).toContain("1 error, 1 warning");
  });

  it("never prints a secret", async () => {
    const path = file("secret.yaml", withExporter("otlphttp", "endpoint: h\nheaders: {authorization: Bearer s3cret}"));
    const { out, err } = await cli(["print-config", "-c", path, "--defaults"]);
    expect(out + err).not.toContain("s3cret");
    expect(parse(out).exporters.otlphttp.headers.authorization).toBe("[REDACTED]");
  });

  it("prints no value of a variable or file in statements, or where any value may be written", async () => {
    const text = file("text.txt", "blue-canary");
    const map = file("map.yaml", "inner: {word: blue-canary}");
    const path = file(
      "references.yaml",
      `
receivers: {otlp: {protocols: {http: }}}
service: {pipelines: {logs: {receivers: [otlp], processors: [transform, filter, attributes], exporters: [webhook]}}}
processors:
  transform:
    log_statements:
      - set(attributes["a"], "\${env:WORD}") where body != "\${file:${text}}"
      - \${env:STATEMENT}
  filter: {logs: {log_record: ['attributes["a"] == "\${env:WORD}"']}}
  attributes: {actions: [{key: a, action: insert, value: "\${file:${text}}"}, {key: b, action: insert, value: written}]}
`,
    );
    const webhook = file(
      "webhook.yaml",
      `exporters: {webhook: {endpoint: "https://\${env:HOST}/hook", body: {one: "\${env:WORD}", two: "\${file:${map}}", three: kept}}}`,
    );
    const env = { WORD: "blue-canary", STATEMENT: 'set(attributes["b"], "blue-canary")', HOST: "example.com" };
    for (const more of [[], ["--defaults"], ["--json"]]) {
      const { out, err } = await runCli(["print-config", "-c", path, "-c", webhook, ...more], env);
      expect(out + err).not.toContain("canary");
      const { processors, exporters } = parse(out);
      expect(processors.transform.log_statements).toEqual([
        'set(attributes["a"], "[REDACTED]") where body != "[REDACTED]"',
        "[REDACTED]",
      ]);
      expect(processors.attributes.actions.map(({ value }: { value: unknown }) => value)).toEqual([
        "[REDACTED]",
        "written",
      ]);
      expect(exporters.webhook.body).toMatchObject({ one: "[REDACTED]", three: "kept" });
    }
  });

  it("prints addresses and paths that came from variables", async () => {
    const path = file("address.yaml", withExporter("otlphttp", `endpoint: "http://\${env:HOST}:4318"`));
    const { out } = await cli(["print-config", "-c", path], { HOST: "backend.internal" });
    expect(parse(out).exporters.otlphttp.endpoint).toBe("http://backend.internal:4318");
  });
});

describe("--config", () => {
  const timeoutOf = async (...configs: string[]) => {
    const args = configs.flatMap((config) => ["--config", config]);
    const { out, err } = await cli(["print-config", ...args], { WHOLE: withExporter("debug", "verbosity: basic") });
    return { ...parse(out)?.exporters?.debug, err };
  };

  it("takes a file by the Collector's prefix", async () => {
    expect(await timeoutOf(`file:${file("prefixed.yaml", GOOD)}`, "yaml:exporters::debug::verbosity: normal")).toEqual({
      verbosity: "normal",
      err: "",
    });
  });

  it("takes a whole config from an environment variable", async () => {
    expect((await timeoutOf("env:WHOLE")).verbosity).toBe("basic");
    expect((await cli(["validate", "-c", "env:NONE"])).err).toContain("there is no environment variable NONE");
  });

  it("accepts YAML in which a double colon means a nested map", async () => {
    expect((await timeoutOf("env:WHOLE", "yaml:exporters::debug::verbosity: detailed")).verbosity).toBe("detailed");
    expect((await timeoutOf("env:WHOLE", "yaml:exporters:\n  debug: {verbosity: normal}")).verbosity).toBe("normal");
  });

  it("points at what is wrong in such a text, and keeps secrets to itself", async () => {
    const WHOLE = withExporter("otlphttp", "endpoint: h\nheaders: {authorization: Bearer s3cret}\ntimeot: 1s");
    const { code, out, err } = await cli(["validate", "-c", "env:WHOLE"], { WHOLE });
    expect(code).toBe(1);
    expect(err).toMatch(/env:WHOLE:\d+:\d+/);
    expect(out + err).not.toContain("s3cret");
  });

  it("shows the line of the text that it is in, also where there are several", async () => {
    const texts = ["yaml:receivers::otlpx: 1", "yaml:exporters::debug::verbosity: loudly", "yaml:connectors: "];
    const { err } = await cli(["validate", ...texts.flatMap((text) => ["-c", text])]);
    expect(err).toMatch(/^ +2 \| +otlpx: 1$/m);
    expect(err).toMatch(/^ +3 \| +verbosity: loudly$/m);
  });

  it("says that it downloads nothing", async () => {
    const { code, err } = await cli(["run", "-c", "https://host/config.yaml"]);
    expect(code).toBe(2);
    expect(err).toContain("--config https: is not supported; download the config, and name the file");
  });
});
