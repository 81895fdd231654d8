import { octetCounting } from "../../../src/receivers/net-log/cutting.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { LogBatchWriter } from "../../../src/runtime/logs/entries/log-batch-writer.js";
import { LogEntry, writeEntry } from "../../../src/runtime/logs/entries/log-entry.js";
import { createCutter } from "../../../src/runtime/logs/entries/record-cutter.js";
import { textEncoding } from "../../../src/runtime/logs/entries/text-encoding.js";
import { OperatorChain } from "../../../src/runtime/logs/operator-chain.js";
import { operatorsSchema } from "../../../src/runtime/logs/operator-schema.js";
import { assert, type FuzzTarget, magnitude } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { textMutator } from "../mutate-text.js";

const OPERATOR_CONTEXT = {
  id: "file_log",
  metrics: noMetrics,
  logger: silentLogger,
  clock: systemClock,
  random: () => 0.4,
};
const SYSLOG_5424 = '<34>1 2024-02-29T12:00:00.25Z host app 12 ID47 [a@1 b="c\\"d" e="f"][g@2] a message';
const SYSLOG_3164 = "<13>Feb 29 12:00:00 host app[12]: a message";
const TIME = { parse_from: "attributes.time", layout_type: "gotime", layout: "2006-01-02T15:04:05Z07:00" };

/** Lines of logs: cut out of what came, through operators that take them apart, to OTLP. */
export const lineTargets: readonly FuzzTarget[] = [
  lineTarget("syslog, new", [{ type: "syslog_parser", protocol: "rfc5424" }], [SYSLOG_5424]),
  lineTarget("syslog, old", [{ type: "syslog_parser", protocol: "rfc3164" }], [SYSLOG_3164]),
  lineTarget(
    "lines of containers",
    [{ type: "container", add_metadata_from_filepath: false }],
    [
      "2024-02-29T12:00:00.25Z stdout P a part",
      "2024-02-29T12:00:00.25+02:00 stderr F the rest",
      '{"log":"a line\\n","stream":"stdout","time":"2024-02-29T12:00:00.25Z"}',
    ],
  ),
  lineTarget(
    "lines of JSON",
    [
      { type: "json_parser", timestamp: TIME, severity: { parse_from: "attributes.level" } },
      { type: "flatten", field: "attributes.o" },
    ],
    ['{"time":"2024-02-29T12:00:00Z","level":"warn","o":{"a":[1,-2.5e3,"\\ud83d\\ude00"],"b":null},"t":true}'],
  ),
  lineTarget(
    "lines of words",
    [
      { type: "csv_parser", header: "a,b", lazy_quotes: true, on_error: "send_quiet" },
      { type: "key_value_parser", on_error: "send_quiet" },
      { type: "regex_parser", regex: "^(?P<first>\\w+) (?P<rest>.*)$", on_error: "send_quiet" },
    ],
    ['"a ""b""",c', 'a=b c="d e" f=', "words and words"],
  ),
];

const CUTTER_SETTINGS = {
  encoding: textEncoding("utf-8")!,
  maxLogSize: 1024,
  truncates: false,
  trimsLeading: true,
  trimsTrailing: true,
};

function lineTarget(name: string, operators: readonly object[], lines: readonly string[]): FuzzTarget {
  const configs = operatorsSchema.parse(operators);
  return {
    name,
    share: 1,
    seeds: [Buffer.from(lines.join("\n")), ...lines.map((line) => Buffer.from(`${line.length} ${line}`))],
    mutate: textMutator([...'<>[]{}=",:- \n', "<0>", "<191>1 ", "Z", "stdout F ", "\t"]),
    run: (input) => runLines(input, configs),
  };
}

function runLines(input: Buffer, configs: ReturnType<typeof operatorsSchema.parse>): string {
  const writer = new LogBatchWriter(Buffer.alloc(0), Buffer.alloc(0), 1024);
  const chain = new OperatorChain(configs, OPERATOR_CONTEXT, (entry) =>
    writer.add(200, (wire) => writeEntry(wire, entry)),
  );
  const take = (body: string | Uint8Array) => chain.process(new LogEntry(body, {}, {}, undefined));
  const cutter = createCutter(CUTTER_SETTINGS);
  const cut = octetCounting(8192, (window, state, isEnd, sink) => cutter.cut(window, state, isEnd, sink));
  const state = { offset: 1, isSkipping: false, records: 0 };
  const sink = {
    takeText: (bytes: Buffer, from: number, to: number) => take(bytes.toString("utf8", from, to)),
    takeBytes: (bytes: Buffer) => take(Buffer.from(bytes)),
  };
  for (let at = 0; at < input.length; ) {
    const done = cut(input.subarray(at), state, true, sink);
    assert(done > 0, "bytes are left for ever");
    at += done;
  }
  const held = [...chain.heldEntries()].length;
  assert(writer.count + held <= state.records, "more entries come out than went in");
  const { count } = writer;
  if (count > 0) holdToOtlp(writer.finish());
  return `${magnitude(state.records)} lines, ${magnitude(count)} entries, ${magnitude(held)} held`;
}
