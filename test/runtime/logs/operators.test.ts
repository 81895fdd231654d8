import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics } from "../../../src/runtime/contract/observability.js";
import { LogEntry } from "../../../src/runtime/logs/entries/log-entry.js";
import type { LogMap, LogValue } from "../../../src/runtime/logs/entries/log-value.js";
import { OperatorChain } from "../../../src/runtime/logs/operator-chain.js";
import { operatorsSchema } from "../../../src/runtime/logs/operator-schema.js";
import { keepingLogger } from "../../receivers/file-log/harness.js";

/** Returns the output of these operators for these bodies. */
function run(operators: object[], bodies: LogValue[], attributes: LogMap = {}, resource: LogMap = {}) {
  const { logger, lines } = keepingLogger();
  const out: LogEntry[] = [];
  const context = { id: "file_log", metrics: noMetrics, logger, clock: systemClock, random: () => 0.4 };
  const chain = new OperatorChain(operatorsSchema.parse(operators), context, (entry) => void out.push(entry));
  for (const body of bodies) chain.process(new LogEntry(body, { ...attributes }, resource, undefined));
  return { out, lines, chain };
}

const first = (operators: object[], body: LogValue, attributes: LogMap = {}, resource: LogMap = {}) =>
  run(operators, [body], attributes, resource).out[0]!;

const utc = (text: string) => BigInt(Date.parse(text)) * 1_000_000n;

describe("parsers", () => {
  it("json_parser: values become attributes, numbers doubles, and the body stays", () => {
    const entry = first([{ type: "json_parser" }], '{"a":"x","n":1,"o":{"b":[true,null]}}', { kept: "yes" });
    expect(entry.attributes).toEqual({ kept: "yes", a: "x", n: 1, o: { b: [true, null] } });
    expect(entry.body).toBe('{"a":"x","n":1,"o":{"b":[true,null]}}');
    expect(first([{ type: "json_parser", parse_ints: true }], '{"n":1,"d":1.5}').attributes).toEqual({ n: 1n, d: 1.5 });
    expect(first([{ type: "json_parser", parse_to: "body" }], '{"a":1}').body).toEqual({ a: 1 });
    expect(first([{ type: "json_parser", parse_to: "attributes.log" }], '{"a":1}').attributes).toEqual({
      log: { a: 1 },
    });
  });

  it("json_parser: takes time, severity, ids, scope and body from what it found", () => {
    const text = JSON.stringify({
      ts: "2024-02-29T12:00:00.25Z",
      level: "WARNING",
      msg: "hello",
      logger: "cart",
      trace: { id: "0af7651916cd43dd8448eb211c80319c", span: "b7ad6b7169203331", flags: "01" },
    });
    const entry = first(
      [
        {
          type: "json_parser",
          timestamp: { parse_from: "attributes.ts", layout: "%Y-%m-%dT%H:%M:%S.%LZ" },
          severity: { parse_from: "attributes.level" },
          trace: {
            trace_id: { parse_from: "attributes.trace.id" },
            span_id: { parse_from: "attributes.trace.span" },
            trace_flags: { parse_from: "attributes.trace.flags" },
          },
          scope_name: { parse_from: "attributes.logger" },
          body: "attributes.msg",
        },
      ],
      text,
    );
    expect(entry).toMatchObject({ body: "hello", severityNumber: 13, severityText: "WARNING", scopeName: "cart" });
    expect(entry.timestamp).toBe(utc("2024-02-29T12:00:00.250Z"));
    expect(Buffer.from(entry.traceId!).toString("hex")).toBe("0af7651916cd43dd8448eb211c80319c");
    expect(Buffer.from(entry.spanId!).toString("hex")).toBe("b7ad6b7169203331");
    expect(entry.traceFlags).toBe(1);
  });

  it("regex_parser: named groups, in RE2 syntax", () => {
    const operator = { type: "regex_parser", regex: "^(?P<host>\\S+) (?P<code>\\d+)?(?P<rest>.*)$" };
    expect(first([operator], "a.example -x").attributes).toEqual({ host: "a.example", code: "", rest: "-x" });
  });

  it("csv_parser, key_value_parser", () => {
    expect(first([{ type: "csv_parser", header: "id,name" }], '1,"a ""b"", c"').attributes).toEqual({
      id: "1",
      name: 'a "b", c',
    });
    expect(
      first([{ type: "csv_parser", header_attribute: "h", header_delimiter: ";", delimiter: "\t" }], "1\t2", {
        h: "a;b",
      }).attributes,
    ).toEqual({ h: "a;b", a: "1", b: "2" });
    expect(first([{ type: "key_value_parser" }], 'a=1 b="x y" __proto__=z').attributes).toMatchObject({
      a: "1",
      b: "x y",
    });
    expect(first([{ type: "key_value_parser", delimiter: ":", pair_delimiter: "," }], "a:1,b:2").attributes).toEqual({
      a: "1",
      b: "2",
    });
  });

  it("syslog_parser: RFC 5424", () => {
    const text =
      '<86>1 2015-08-05T21:58:59.693Z 192.168.1.132 SecureAuth0 23108 ID52020 [SecureAuth@27389 UserID="Tester\\"2" Realm="a"][x y="z"] Found the user';
    const entry = first([{ type: "syslog_parser", protocol: "rfc5424" }], text);
    expect(entry.attributes).toEqual({
      priority: 86n,
      facility: 10n,
      facility_text: "authpriv",
      version: 1n,
      hostname: "192.168.1.132",
      appname: "SecureAuth0",
      proc_id: "23108",
      msg_id: "ID52020",
      structured_data: { "SecureAuth@27389": { UserID: 'Tester"2', Realm: "a" }, x: { y: "z" } },
      message: "Found the user",
    });
    expect(entry).toMatchObject({
      severityNumber: 9,
      severityText: "info",
      timestamp: utc("2015-08-05T21:58:59.693Z"),
    });
    expect(first([{ type: "syslog_parser", protocol: "rfc5424" }], "<13>1 - - - - - -").attributes).toEqual({
      priority: 13n,
      facility: 1n,
      facility_text: "user",
      version: 1n,
    });
  });

  it("syslog_parser: RFC 3164, with and without a priority", () => {
    const operator = { type: "syslog_parser", protocol: "rfc3164", allow_skip_pri_header: true };
    const entry = first([operator], "<34>Jan 12 06:30:00 1.2.3.4 apache_server[12]: test message");
    expect(entry.attributes).toEqual({
      priority: 34n,
      facility: 4n,
      facility_text: "auth",
      hostname: "1.2.3.4",
      appname: "apache_server",
      proc_id: "12",
      message: "test message",
    });
    expect(entry).toMatchObject({ severityNumber: 18, severityText: "crit" });
    expect(new Date(Number(entry.timestamp! / 1_000_000n)).toISOString()).toMatch(/-01-12T06:30:00/);
    expect(first([operator], "Jan  2 06:30:00 host su: denied").attributes).toEqual({
      hostname: "host",
      appname: "su",
      message: "denied",
    });
  });

  it("container: Docker, containerd and CRI-O, with the parts of a line joined", () => {
    const path = "/var/log/pods/some_kube-scheduler-kind_49cc7c1fd3702c40b2686ea7486091d3/kube-scheduler44/1.log";
    const { out, lines } = run(
      [{ type: "container" }],
      [
        '{"log":"INFO: docker line\\n","stream":"stdout","time":"2029-03-30T08:31:20.545192187Z"}',
        "2024-04-13T07:59:37.505201169-05:00 stdout F standalone crio",
        "2024-04-13T07:59:37.505201169Z stderr P one, ",
        "2024-04-13T07:59:37.605201169Z stderr F two",
      ],
      { "log.file.path": path },
    );
    expect(lines).toEqual([]);
    expect(out.map(({ body }) => body)).toEqual(["INFO: docker line\n", "standalone crio", "one, two"]);
    expect(out.map(({ attributes }) => attributes["log.iostream"])).toEqual(["stdout", "stdout", "stderr"]);
    expect(out[0]!.timestamp).toBe(utc("2029-03-30T08:31:20.545Z") + 192_187n);
    expect(out[1]!.timestamp).toBe(utc("2024-04-13T12:59:37.505Z") + 201_169n);
    expect(out[2]!.resource).toEqual({
      "k8s.container.name": "kube-scheduler44",
      "k8s.namespace.name": "some",
      "k8s.pod.name": "kube-scheduler-kind",
      "k8s.container.restart_count": "1",
      "k8s.pod.uid": "49cc7c1fd3702c40b2686ea7486091d3",
    });
    expect(Object.keys(out[0]!.attributes)).not.toContain("time");
  });

  it.each([
    ["strptime", "%Y/%m/%d %H:%M:%S %z", "2024/05/06 07:08:09 +0200", "2024-05-06T05:08:09.000Z"],
    ["strptime", "%Y-%m-%dT%H:%M:%S%j", "2024-05-06T07:08:09+09:00", "2024-05-05T22:08:09.000Z"],
    ["gotime", "Jan 2 15:04:05 MST 2006", "May 6 07:08:09 UTC 2024", "2024-05-06T07:08:09.000Z"],
    ["epoch", "s", "1714979289", "2024-05-06T07:08:09.000Z"],
    ["epoch", "ms", 1714979289000, "2024-05-06T07:08:09.000Z"],
    ["epoch", "s.ms", 1714979289.25, "2024-05-06T07:08:09.250Z"],
  ])("time_parser: %s %s", (layout_type, layout, value, expected) => {
    const entry = first([{ type: "time_parser", parse_from: "attributes.t", layout_type, layout }], "", { t: value });
    expect(entry.timestamp).toBe(utc(expected));
  });

  it("time_parser: times without a zone are of the location", () => {
    const operator = {
      type: "time_parser",
      parse_from: "body",
      layout: "%Y-%m-%d %H:%M:%S",
      location: "America/New_York",
    };
    expect(first([operator], "2024-07-01 12:00:00").timestamp).toBe(utc("2024-07-01T16:00:00Z"));
  });

  it("severity_parser: presets, texts, numbers, ranges and statuses", () => {
    const of = (value: LogValue, extra = {}) => {
      const entry = first([{ type: "severity_parser", parse_from: "attributes.s", ...extra }], "", { s: value });
      return [entry.severityNumber, entry.severityText];
    };
    expect(of("Error")).toEqual([17, "Error"]);
    expect(of("err")).toEqual([17, "err"]);
    expect(of("err", { preset: "otel" })).toEqual([0, "err"]);
    expect(of("crit", { mapping: { fatal: "crit", fatal2: ["alert", 7] } })).toEqual([21, "crit"]);
    expect(of(7n, { mapping: { fatal2: ["alert", 7] } })).toEqual([22, "7"]);
    expect(of(404, { mapping: { error: "4xx" } })).toEqual([17, "404"]);
    expect(of(15n, { mapping: { warn2: { min: 10, max: 20 } }, overwrite_text: true })).toEqual([14, "WARN2"]);
    expect(of("whatever")).toEqual([0, "whatever"]);
  });
});

describe("changes", () => {
  it("add: values, also of expressions", () => {
    const add = (field: string, value: unknown) => ({ type: "add", field, value });
    const entry = first(
      [
        add("attributes.n", 5),
        add("attributes.list", [1, "x"]),
        add("attributes.from", "EXPR(body + '!')"),
        add('resource["a.b"]', "host-EXPR(upper(attributes.k))"),
        add("attributes.length", "EXPR(len(body))"),
      ],
      "text",
      { k: "v" },
    );
    expect(entry.attributes).toEqual({ k: "v", n: 5n, list: [1n, "x"], from: "text!", length: 4n });
    expect(entry.resource).toEqual({ "a.b": "host-EXPR(upper(attributes.k))" });
  });

  it("remove, retain, move, copy and flatten", () => {
    const body = { a: { b: "1", c: "2" }, d: "3" };
    expect(first([{ type: "remove", field: "body.a.b" }], structuredClone(body)).body).toEqual({
      a: { c: "2" },
      d: "3",
    });
    expect(
      first([{ type: "retain", fields: ["body.a.b", "attributes.x"] }], structuredClone(body), { x: "1", y: "2" }),
    ).toMatchObject({
      body: { a: { b: "1" } },
      attributes: { x: "1" },
    });
    expect(first([{ type: "move", from: "body.d", to: "attributes.e" }], structuredClone(body))).toMatchObject({
      body: { a: { b: "1", c: "2" } },
      attributes: { e: "3" },
    });
    expect(first([{ type: "move", from: "attributes.log", to: "body" }], "old", { log: "new" })).toMatchObject({
      body: "new",
      attributes: {},
    });
    const copied = first(
      [
        { type: "copy", from: "body.a", to: "attributes.a" },
        { type: "add", field: "body.a.b", value: "9" },
      ],
      structuredClone(body),
    );
    expect(copied).toMatchObject({ body: { a: { b: "9" } }, attributes: { a: { b: "1", c: "2" } } });
    expect(first([{ type: "flatten", field: "body.a" }], structuredClone(body)).body).toEqual({
      b: "1",
      c: "2",
      d: "3",
    });
    expect(
      first([{ type: "move", from: "attributes.x", to: "resource.x" }], "", { x: "1" }, { y: "2" }).resource,
    ).toEqual({ x: "1", y: "2" });
  });

  it("does not change the resource of other entries, nor what objects inherit", () => {
    const resource = { a: "1" };
    const entry = first(
      [
        { type: "add", field: "resource.b", value: "2" },
        { type: "remove", field: "resource.a" },
      ],
      "",
      {},
      resource,
    );
    expect(entry.resource).toEqual({ b: "2" });
    expect(resource).toEqual({ a: "1" });
    first(
      [{ type: "json_parser" }, { type: "add", field: "attributes.__proto__.polluted", value: "yes" }],
      '{"__proto__":{"a":1}}',
    );
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(
      Object.keys(first([{ type: "json_parser", parse_ints: true }], '{"__proto__":{"a":1},"b":2}').attributes),
    ).toEqual(["__proto__", "b"]);
  });

  it("filter leaves out what its expression is true of, or a share", () => {
    const drop = { type: "filter", expr: 'body contains "debug"' };
    expect(run([drop], ["a debug", "b"]).out.map(({ body }) => body)).toEqual(["b"]);
    expect(run([{ ...drop, drop_ratio: 0.3 }], ["a debug"]).out).toHaveLength(1);
    expect(run([{ ...drop, drop_ratio: 0.5 }], ["a debug"]).out).toHaveLength(0);
  });

  it("router: the first route that fits, the default, or none", () => {
    const operators = [
      {
        type: "router",
        routes: [
          { output: "json", expr: 'body matches "^\\\\{"' },
          { output: "plain", expr: 'attributes.missing contains "x" or true' },
          { output: ["plain"], expr: 'body startsWith "p"', attributes: { route: "EXPR(body[0:1])" } },
        ],
        default: ["other"],
      },
      { type: "json_parser", id: "json", output: "end" },
      { type: "add", id: "plain", field: "attributes.kind", value: "plain", output: "end" },
      { type: "add", id: "other", field: "attributes.kind", value: "other" },
      { type: "noop", id: "end" },
    ];
    const { out } = run(operators, ['{"kind":"json"}', "plain", "else"]);
    expect(out.map(({ attributes }) => ({ ...attributes }))).toEqual([
      { kind: "json" },
      { route: "p", kind: "plain" },
      { kind: "other" },
    ]);
    const { default: _, ...router } = operators[0] as { default: unknown };
    expect(run([router, ...operators.slice(1)], ["else"]).out).toEqual([]);
  });

  it("recombine joins entries by their first or their last", () => {
    const join = { type: "recombine", combine_field: "body", source_identifier: "attributes.file" };
    const stack = ["Error: a", "  at x", "  at y", "Error: b", "  at z"];
    const byFirst = run([{ ...join, is_first_entry: "body matches '^\\\\S'" }], stack);
    expect(byFirst.out.map(({ body }) => body)).toEqual(["Error: a\n  at x\n  at y"]);
    expect([...byFirst.chain.heldEntries()].map(({ body }) => body)).toEqual(["Error: b", "  at z"]);
    const byLast = run([{ ...join, is_last_entry: "body endsWith '.'", combine_with: " " }], ["a", "b.", "c."]);
    expect(byLast.out.map(({ body }) => body)).toEqual(["a b.", "c."]);
    const limited = run([{ ...join, is_last_entry: "false", max_unmatched_batch_size: 2 }], ["a", "b", "c"]);
    expect(limited.out.map(({ body }) => body)).toEqual(["a\nb"]);
  });
});

describe("if and on_error", () => {
  it("passes entries on as they are when the condition does not hold", () => {
    const operator = { type: "json_parser", if: 'attributes.format == "json"' };
    expect(first([operator], '{"a":1}', { format: "json" }).attributes).toMatchObject({ a: 1 });
    expect(first([operator], '{"a":1}', { format: "text" }).attributes).toEqual({ format: "text" });
  });

  it.each([
    ["send", 1, 1],
    ["drop", 0, 1],
    ["send_quiet", 1, 0],
    ["drop_quiet", 0, 0],
  ])("%s: passes on or drops unparsable entries, with or without a log line", (on_error, entries, words) => {
    const { out, lines } = run([{ type: "json_parser", on_error }], ["no json, with a secret"]);
    expect(out).toHaveLength(entries);
    expect(lines).toHaveLength(words);
    expect(lines.join()).not.toContain("secret");
  });

  it("sends to several outputs what shares nothing", () => {
    const { out } = run(
      [
        { type: "noop", output: ["one", "two"] },
        { type: "add", id: "one", field: "attributes.x", value: "1", output: "end" },
        { type: "add", id: "two", field: "attributes.x", value: "2" },
        { type: "noop", id: "end" },
      ],
      ["text"],
    );
    expect(out.map(({ attributes }) => attributes.x).toSorted()).toEqual(["1", "2"]);
  });
});

describe("the config of operators", () => {
  const problem = (...operators: object[]) =>
    operatorsSchema.safeParse(operators).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);

  it("names what is wrong and where", () => {
    expect(problem({ type: "regex_parser", regex: "no groups" })).toEqual([
      "0.regex: expected at least one named group, as (?P<name>...)",
    ]);
    expect(problem({ type: "filter", expr: "frobnicate(1)" })![0]).toContain(
      "0.expr: the function frobnicate is not known here",
    );
    expect(problem({ type: "add", field: "body", value: "EXPR(len(body" })).toBeUndefined();
    expect(problem({ type: "add", field: "body", value: "EXPR(frobnicate(1))" })![0]).toContain(
      "0.value: the function",
    );
    expect(problem({ type: "noop", output: "nowhere" })![0]).toContain("there is no operator nowhere");
    expect(problem({ type: "noop", id: "a" }, { type: "noop", output: "a" })![0]).toContain("loop forever");
    expect(problem({ type: "noop", id: "a" }, { type: "noop", id: "a" })).toEqual(["1.id: the id is taken"]);
    expect(problem({ type: "recombine", combine_field: "body" })![0]).toContain(
      "either is_first_entry or is_last_entry",
    );
    expect(problem({ type: "time_parser", parse_from: "body", layout: "x", layout_type: "epoch" })).not.toBeUndefined();
    expect(problem({ type: "json_parser" }, { type: "json_parser" })).toBeUndefined();
  });
});
