import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { blocksIn, pages } from "../../../docs/pages.js";
import { sluice, temporary } from "../dlq/support.js";

const CONFIG = `
receivers: {otlp: {protocols: {http: }}, otlp/b: {protocols: {http: {endpoint: 127.0.0.1:14399}}}}
processors:
  filter: {logs: {log_record: ['body == "bad"']}}
  rate_limit: {limit: 2, window: 1h, on_excess: dead_letter}
  tail_sampling: {decision_wait: 30s, policies: [{name: errors, type: status_code, status_code: {status_codes: [ERROR]}}]}
connectors: {routing: {default_pipelines: [logs/b], table: [{context: log, condition: 'attributes["to"] == "c"', pipelines: [logs/c]}]}}
exporters: {debug: , otlp_http: {endpoint: "http://127.0.0.1:1"}, nop: }
service:
  pipelines:
    logs: {receivers: [otlp], processors: [filter], exporters: [routing]}
    logs/b: {receivers: [routing], exporters: [debug]}
    logs/c: {receivers: [routing], processors: [rate_limit], exporters: [otlp_http]}
    logs/d: {receivers: [otlp/b], exporters: [nop]}
    traces: {receivers: [otlp], processors: [tail_sampling], exporters: [otlp_http]}
`;

async function run(tests: string, ...args: string[]) {
  const folder = await temporary();
  const [config, file] = [join(folder, "pipeline.yaml"), join(folder, "tests.yaml")];
  writeFileSync(config, CONFIG);
  writeFileSync(file, tests);
  return sluice(["test", "--config", config, file, ...args]);
}

describe("test", () => {
  it("runs processors, connectors and several exporters, and takes any receiver", async () => {
    const { out, code } = await run(`
tests:
  - name: by route
    input: {logs: [a, bad, {body: c, attributes: {to: c}}]}
    expect: {exporters: {debug: [{body: a}], otlp_http: [{body: c, attributes: {to: c}}], nop: 0}}
  - name: at the other receiver
    input: {receiver: otlp/b, logs: [bad]}
    expect: {exporters: {nop: [{body: bad}], debug: []}}
`);
    expect([code, out]).toEqual([0, "✓ by route\n✓ at the other receiver\n2 tests, all passed.\n"]);
  });

  it("keeps tests apart, and tells of dead letters", async () => {
    const each = `
    input: {logs: [{body: 1, attributes: {to: c}}, {body: 2, attributes: {to: c}}, {body: 3, attributes: {to: c}}]}
    expect: {exporters: {otlp_http: 2}, dead_letters: [{body: 3}]}`;
    const { out, code } = await run(`tests:\n  - name: first${each}\n  - name: second${each}`);
    expect([code, out]).toEqual([0, expect.stringContaining("2 tests, all passed")]);
  });

  it("lets time go on for processors that wait", async () => {
    const span = (status: number) =>
      `{resourceSpans: [{scopeSpans: [{spans: [{traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b716920333${status}", name: s${status}, status: {code: ${status}}}]}]}]}`;
    const { out, code } = await run(`
tests:
  - name: the whole trace is kept for its error
    inputs: [{otlp: ${span(1)}, wait: 10s}, {otlp: ${span(2)}, wait: 60s}]
    expect: {exporters: {otlp_http: [{name: s1}, {name: s2}]}}
  - name: a trace without one is not
    input: {otlp: ${span(1)}, wait: 60s}
    expect: {exporters: {otlp_http: []}}
`);
    expect([code, out]).toEqual([0, expect.stringContaining("2 tests, all passed")]);
  });

  it("shows what came out where it is not as expected, and exits with 1", async () => {
    const { out, code } = await run(`
tests:
  - {name: wrong, input: {logs: [{body: a, attributes: {x: 1}}]}, expect: {outcome: refused, exporters: {debug: [{body: b, attributes: {x: }}], otlp: 0}}}
`);
    expect(code).toBe(1);
    expect(out).toContain("✗ wrong\n");
    expect(out).toContain("expected it to be refused, and it was accepted");
    expect(out).toContain("record 0: body: expected 'b', got 'a'");
    expect(out).toContain("attributes['x']: expected nothing, got 1");
    expect(out).toContain('there is no exporter "otlp"');
    expect(out).toContain("1 test, 1 failed.");
  });

  it("prints nothing of records and names that a terminal might obey", async () => {
    const hostile = String.raw`"a \u202e \u009b31m \u2028"`;
    const { out, code } = await run(
      `tests: [{name: ${hostile}, input: {logs: [{body: ${hostile}}]}, expect: {exporters: {debug: [{body: b}]}}}]`,
    );
    expect([code, out]).toEqual([1, expect.stringContaining("✗ a \\u202e")]);
    expect(out).not.toMatch(/[\u0080-\u009f\u2028-\u202e]/);
  });

  it("has results for programs, of the tests that are asked for", async () => {
    const tests = `tests: [{name: yes, input: {logs: [a]}, expect: {}}, {name: no, input: {logs: [a]}, expect: {outcome: refused}}]`;
    const { out, code } = await run(tests.replace("name: yes", "name: sure"), "--json", "--filter", "sure");
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      { passed: 1, failed: 0, results: [{ name: "sure", failures: [] }] },
    ]);
  });

  it.each([
    ["tests: []", "tests: "],
    ["tests: [{name: a, expect: {}}]", "either input or inputs"],
    ["tests: [{name: a, input: {logs: [a], otlp: {}}, expect: {}}]", "either logs or otlp"],
    ["tests: [{name: a, input: {otlp: {resourceProfiles: []}}, expect: {}}]", "resourceLogs, resourceSpans"],
    ["tests: [{name: a, input: {otlp: {resourceLogs: 3}}, expect: {}}]", "no OTLP/JSON"],
    ["tests: [", "tests.yaml"],
    ["tests: [{name: a, input: {logs: [a], wait: long}, expect: {}}]", "expected a duration"],
  ])("says what is wrong with a file: %s", async (tests, message) => {
    expect(await run(tests)).toMatchObject({ code: 1, err: expect.stringContaining(message), out: "" });
  });

  it("says that nothing takes what a test sends", async () => {
    const { out, code } = await run("tests: [{name: a, input: {receiver: nobody, logs: [a]}, expect: {}}]");
    expect([code, out]).toEqual([1, expect.stringContaining('no pipeline takes logs from the receiver "nobody"')]);
  });

  it("passes the tests of its own page", async () => {
    const folder = await temporary();
    const page = pages.find(({ name }) => name === "docs/how-to/config-tests.md")!;
    const [config, tests] = blocksIn(page, "yaml");
    writeFileSync(join(folder, "pipeline.yaml"), config!);
    writeFileSync(join(folder, "tests.yaml"), tests!);
    const run = await sluice(["test", "--config", join(folder, "pipeline.yaml"), join(folder, "tests.yaml")]);
    expect(run).toMatchObject({ code: 0, out: expect.stringContaining("3 tests, all passed") });
  });
});
