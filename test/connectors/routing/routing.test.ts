import { describe, expect, it } from "vitest";
import { routing } from "../../../src/connectors/routing/component.js";
import { type Batch, deadLetter, Refusal, readRecords } from "../../../src/plugin.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { feed, owed } from "../../support/deliveries.js";
import { logs } from "../../support/telemetry/batches.js";
import { attributes, int, logsOf, METRICS, metricsOf, SPAN, spansOf, text } from "../../support/telemetry/ottl.js";
import { connectorContext, problemsOf, through } from "../support.js";

const LOGS = logsOf(
  { body: text("a"), severityNumber: 5, attributes: attributes({ env: text("dev") }) },
  { body: text("b"), severityNumber: 9, attributes: attributes({ env: text("prod") }) },
  { body: text("c"), severityNumber: 17, attributes: attributes({ env: text("prod"), n: text("x") }) },
  { body: text("d") },
);
const TARGETS = ["logs/a", "logs/b", "logs/rest"];

function routed(config: object, batch: Batch = LOGS, extra: object = {}) {
  const { out } = through(routing, config, batch, { targets: TARGETS, ...extra });
  return out.map(({ batch: part, route }) => `${route?.join(" ")}: ${names(part)}`).sort();
}

function names(batch: Batch): string {
  const found: string[] = [];
  readRecords(batch, (record) => {
    found.push(record.signal === "logs" ? String(record.body) : record.name);
  });
  return found.join(" ");
}

const prod = { context: "log", condition: 'attributes["env"] == "prod"', pipelines: ["logs/a"] };
const loud = { context: "log", condition: "severity_number >= SEVERITY_NUMBER_INFO", pipelines: ["logs/b"] };

describe("routing", () => {
  it.each<[string, object, string[]]>([
    [
      "the first route that matches",
      { table: [prod, loud], default_pipelines: ["logs/rest"] },
      ["logs/a: b c", "logs/rest: a d"],
    ],
    [
      "copy, and then the others",
      { table: [{ ...prod, action: "copy" }, loud], default_pipelines: ["logs/rest"] },
      ["logs/a: b c", "logs/b: b c", "logs/rest: a d"],
    ],
    ["several pipelines", { table: [{ ...prod, pipelines: ["logs/a", "logs/b"] }] }, ["logs/a logs/b: b c"]],
    [
      "a statement",
      { table: [{ context: "log", statement: 'route() where body == "a"', pipelines: ["logs/a"] }] },
      ["logs/a: a"],
    ],
    [
      "a statement without a condition",
      { table: [{ statement: "route()", pipelines: ["logs/a"] }] },
      ["logs/a: a b c d"],
    ],
    [
      "the resource, if nothing else is said",
      { table: [{ condition: 'attributes["service.name"] == "checkout"', pipelines: ["logs/a"] }] },
      ["logs/a: a b c d"],
    ],
    [
      "the context that the paths name",
      { table: [{ condition: 'log.body == "d"', pipelines: ["logs/a"] }] },
      ["logs/a: d"],
    ],
    [
      "contexts one after the other",
      { table: [prod, { condition: 'resource.attributes["replicas"] == 3', pipelines: ["logs/b"] }] },
      ["logs/a: b c", "logs/b: a d"],
    ],
    [
      "routes to the same place together",
      {
        table: [
          prod,
          { ...loud, pipelines: ["logs/a"] },
          { context: "log", condition: 'body == "d"', pipelines: ["logs/a"] },
        ],
      },
      ["logs/a: b c d"],
    ],
    [
      "no route that is for another signal",
      { table: [{ context: "span", condition: "true", pipelines: ["logs/a"] }], default_pipelines: ["logs/rest"] },
      ["logs/rest: a b c d"],
    ],
  ])("sends records by %s", (_, config, expected) => expect(routed(config)).toEqual(expected));

  it("routes spans, metrics and data points", () => {
    const spans = spansOf({ ...SPAN, name: "x" }, { ...SPAN, name: "y" });
    expect(
      routed(
        { table: [{ condition: 'span.name == "x"', pipelines: ["logs/a"] }], default_pipelines: ["logs/b"] },
        spans,
      ),
    ).toEqual(["logs/a: x", "logs/b: y"]);
    const points = metricsOf(METRICS["gauge"]!, METRICS["sum"]!);
    expect(
      routed(
        {
          table: [{ context: "metric", condition: 'name == "g"', pipelines: ["logs/a"] }],
          default_pipelines: ["logs/b"],
        },
        points,
      ),
    ).toEqual(["logs/a: g", "logs/b: s"]);
    expect(
      routed({ table: [{ context: "datapoint", condition: "value_int == 7", pipelines: ["logs/a"] }] }, points),
    ).toEqual(["logs/a: s"]);
  });

  it.each([
    ["request", 'request["X-Tenant"] == "acme"', ["logs/a"]],
    ["request", 'request["x-tenant"] != "acme"', ["logs/rest"]],
    ["request", 'request["other"] != "acme"', ["logs/rest"]],
    ["otelcol", 'otelcol.client.metadata["X-Tenant"][0] == "acme"', ["logs/a"]],
    [undefined, 'otelcol.grpc.metadata["X-Tenant"][0] != "other"', ["logs/a"]],
  ])("reads client metadata (context %s): %s", (context, condition, expected) => {
    const config = { table: [{ context, condition, pipelines: ["logs/a"] }], default_pipelines: ["logs/rest"] };
    const origin = { metadata: new Map([["x-tenant", ["acme"]]]) };
    const { out } = through(routing, config, LOGS, { targets: TARGETS, origin });
    expect(out.map(({ route }) => route)).toEqual([expected]);
    expect(out[0]!.batch).toBe(LOGS);
  });

  it("copies a request and continues with the next route", () => {
    const table = [
      { context: "request", condition: 'request["k"] == "v"', action: "copy", pipelines: ["logs/a"] },
      prod,
    ];
    const extra = { origin: { metadata: new Map([["k", ["u", "v"]]]) } };
    expect(routed({ table, default_pipelines: ["logs/rest"] }, LOGS, extra)).toEqual([
      "logs/a: a b c d",
      "logs/a: b c",
      "logs/rest: a d",
    ]);
  });

  it("edits routed records if the statement is an editor", () => {
    const statement = 'delete_key(attributes, "env") where attributes["env"] == "dev"';
    const { out } = through(routing, { table: [{ context: "log", statement, pipelines: ["logs/a"] }] }, LOGS, {
      targets: TARGETS,
    });
    const [only] = out;
    expect(names(only!.batch)).toBe("a");
    readRecords(only!.batch, (record) => expect(record.attributes.size).toBe(0));
  });

  it("passes a batch that takes one route as a whole as the same object", () => {
    const all = { table: [{ context: "log", condition: "true", pipelines: ["logs/a"] }] };
    expect(through(routing, all, LOGS, { targets: TARGETS }).out[0]!.batch).toBe(LOGS);
    const none = {
      table: [{ context: "log", condition: "false", pipelines: ["logs/a"] }],
      default_pipelines: ["logs/b"],
    };
    expect(through(routing, none, LOGS, { targets: TARGETS }).out[0]!.batch).toBe(LOGS);
  });

  it("acknowledges when every part was accepted, and refuses when one was refused", () => {
    const config = { table: [prod, { ...loud, action: "copy" }], default_pipelines: ["logs/rest"] };
    const good = through(routing, config, LOGS, { targets: TARGETS });
    for (const delivery of good.out.slice(1)) delivery.accept();
    expect(good.outcomes).toEqual([]);
    good.out[0]!.accept();
    expect(good.outcomes).toEqual([ACCEPTED]);
    const bad = through(routing, config, LOGS, { targets: TARGETS });
    const refusal = new Refusal("transient", "full");
    bad.out[0]!.refuse(refusal);
    for (const delivery of bad.out) delivery.accept();
    expect(bad.outcomes).toEqual([{ ok: false, refusal }]);
  });

  it("acknowledges and counts records without a route", () => {
    const metrics = countedMetrics();
    const { out, outcomes } = through(routing, { table: [prod] }, LOGS, { targets: TARGETS, metrics });
    expect(metrics.value("sluice_routing_dropped_items", { otel_signal: "logs" })).toBe(2);
    out[0]!.accept();
    expect(outcomes).toEqual([ACCEPTED]);
    const nothing = through(routing, { table: [prod] }, logs("x"), { targets: TARGETS, metrics });
    expect([nothing.out, nothing.outcomes]).toEqual([[], [ACCEPTED]]);
  });

  it("treats a failing condition as false, or refuses the batch", () => {
    const failing = { context: "log", condition: 'Int(attributes["env"]) / 0 == 1', pipelines: ["logs/a"] };
    const batch = logsOf({ body: text("a"), attributes: attributes({ env: int(1n) }) });
    expect(routed({ table: [failing], default_pipelines: ["logs/rest"] }, batch)).toEqual(["logs/rest: a"]);
    const { out, outcomes } = through(routing, { table: [failing], error_mode: "propagate" }, batch, {
      targets: TARGETS,
    });
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: false }]);
  });

  it("keeps batches that were taken out of a pipeline marked as such", () => {
    const schema = routing.schema.parse({ table: [prod], default_pipelines: ["logs/rest"] });
    const { source, out } = feed(routing.create(schema, connectorContext("logs", { targets: TARGETS })));
    const setback = { reason: "permanent", category: "schema", code: "X", message: "bad" } as const;
    source.next(owed(LOGS).delivery.split([deadLetter(LOGS, setback)])[0]!);
    expect(out.map((part) => part.setback)).toEqual([setback, setback]);
  });
});

const config = (table: string) => `receivers: {otlp: {protocols: {http: }}}
exporters: {nop: }
connectors:
  routing:
    table:
${table}
service:
  pipelines:
    logs/in: {receivers: [otlp], exporters: [routing]}
    logs/a: {receivers: [routing], exporters: [nop]}
    logs/other: {receivers: [otlp], exporters: [nop]}
`;

describe("a routing table", () => {
  it.each([
    ["loads", "      - {condition: 'attributes[\"a\"] == 1', pipelines: [logs/a]}", []],
    [
      "loads with the old match_once",
      "      - {condition: 'true', pipelines: [logs/a]}\n    match_once: true",
      [
        '7:5 connectors.routing.match_once: "match_once" has no effect: a record always goes to the first route that matches',
      ],
    ],
    [
      "says where a pipeline is unknown",
      "      - condition: 'true'\n        pipelines: [logs/a, logs/aa]",
      [
        '7:29 connectors.routing.table.0.pipelines.1: pipeline "logs/aa" is not defined under service.pipelines; did you mean "logs/a"?',
      ],
    ],
    [
      "says where a default pipeline does not read from it",
      "      - {condition: 'true', pipelines: [logs/a]}\n    default_pipelines: [logs/other]",
      [
        '7:25 connectors.routing.default_pipelines.0: pipeline "logs/other" does not have "routing" among its receivers',
      ],
    ],
    [
      "says where a key is unknown",
      "      - {condition: 'true', pipeline: [logs/a], pipelines: [logs/a]}",
      ['6:29 connectors.routing.table.0.pipeline: unknown key "pipeline"; did you mean "pipelines"?'],
    ],
    [
      "says where a condition is wrong",
      "      - {context: log, condition: 'sevrity_number == 1', pipelines: [logs/a]}",
      [
        '6:36 connectors.routing.table.0.condition: no such path in the context log: sevrity_number; did you mean "severity_number"?',
      ],
    ],
    [
      "says where a statement is wrong",
      "      - {statement: 'route() where resource.attributs[\"x\"] == 1', pipelines: [logs/a]}",
      [
        '6:36 connectors.routing.table.0.statement: no such path in the context resource: resource.attributs; did you mean "resource.attributes"?',
      ],
    ],
    [
      "wants a condition",
      "      - {pipelines: [logs/a]}",
      [
        '6:9 connectors.routing.table.0.condition: "condition" is required: expected an OTTL condition that selects what is routed',
      ],
    ],
    [
      "wants one of the two",
      "      - {condition: 'true', statement: 'route()', pipelines: [logs/a]}",
      ["6:40 connectors.routing.table.0.statement: expected a condition or a statement, not both"],
    ],
    [
      "wants the form of request conditions",
      "      - {context: request, condition: 'attributes[\"a\"] == 1', pipelines: [logs/a]}",
      ['6:39 connectors.routing.table.0.condition: expected request["key"] == "value" or request["key"] != "value"'],
    ],
    [
      "refuses to match more than once",
      "      - {condition: 'true', pipelines: [logs/a]}\n    match_once: false",
      [
        '7:5 connectors.routing.match_once: "match_once" has no effect: a record always goes to the first route that matches',
        '7:17 connectors.routing.match_once: a record goes to the first route that matches; write "action: copy" if later routes should get it too',
      ],
    ],
  ])("%s", (_, table, expected) => expect(problemsOf(config(table))).toEqual(expected));
});
