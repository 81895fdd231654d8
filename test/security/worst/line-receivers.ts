/** A receiver of lines, packets or frames, with the worst data that one client can send. */
export interface LineReceiver {
  readonly signal: "logs" | "metrics";
  /** `$PORT` is its port. */
  readonly config: object;
  /** Default: tcp. */
  readonly transport?: "udp";
  readonly data: Readonly<Record<string, () => Buffer>>;
}

const KIB = 1024;
const lines = (line: string, bytes = 400 * KIB) => Buffer.from(`${line}\n`.repeat(bytes / (line.length + 1)));
const packets = (line: string) => lines(line, 60_000);
const REGEX = [{ type: "regex_parser", regex: "^(?P<a>.*?)(?P<b>[a-z]*)$", on_error: "send_quiet" }];
const shared = { listen_address: "127.0.0.1:$PORT" };

const byte = (...bytes: number[]) => Buffer.from(bytes);
const mapOf = (count: number) => {
  const size = byte(0xdf, 0, 0, 0, 0);
  size.writeUInt32BE(count, 1);
  return size;
};
/** The beginning of an event of one record: its tag and its time. */
const MESSAGE = byte(0x93, 0xa1, 0x61, 0);
const member = (i: number) => Buffer.concat([byte(0xa6), Buffer.from(String(i).padStart(6, "0")), byte(0xc0)]);
const members = (count: number) => Buffer.concat(Array.from({ length: count }, (_, i) => member(i)));
const record = (count: number) => Buffer.concat([MESSAGE, mapOf(count), members(count)]);
const entries = (count: number, entry: Buffer) => {
  const size = byte(0xdd, 0, 0, 0, 0);
  size.writeUInt32BE(count, 1);
  return Buffer.concat([byte(0x92, 0xa1, 0x61), size, Buffer.alloc(count * entry.length, entry)]);
};

export const LINE_RECEIVERS: Readonly<Record<string, LineReceiver>> = {
  "syslog/tcp": {
    signal: "logs",
    config: { tcp: shared, protocol: "rfc5424" },
    data: {
      "very short lines": () => lines("a"),
      "headers without a message": () => lines("<1>1 - - - - - -"),
      "structured data": () => lines(`<1>1 - - - - - [a ${'b="c" '.repeat(10_000)}] x`),
      "structured data of quotes": () => lines(`<1>1 - - - - - [a b="${'\\"'.repeat(100_000)}"] x`),
      "many elements of structured data": () => lines(`<1>1 - - - - - ${"[a]".repeat(30_000)} x`),
    },
  },
  "syslog/old": {
    signal: "logs",
    config: { tcp: shared, protocol: "rfc3164" },
    data: { "very short messages": () => lines("<1>a"), "one long line": () => lines("<1>".padEnd(900 * KIB, "a:")) },
  },
  "syslog/counted": {
    signal: "logs",
    config: { tcp: shared, protocol: "rfc5424", enable_octet_counting: true },
    data: { "very short frames": () => Buffer.from("3 <1>".repeat(80 * KIB)) },
  },
  "syslog/udp": {
    signal: "logs",
    config: { udp: shared, protocol: "rfc5424" },
    transport: "udp",
    data: { "a packet of one message": () => packets("<1>1 - - - - - [a b='c'] ") },
  },
  "tcp_log/patterns": {
    signal: "logs",
    config: { ...shared, operators: REGEX },
    data: { "very short lines": () => lines("a"), "long lines": () => lines("a".repeat(100 * KIB)) },
  },
  "tcp_log/multiline": {
    signal: "logs",
    config: { ...shared, multiline: { line_start_pattern: "a" } },
    data: { "very short records": () => lines("a"), "one long record": () => lines(" b".repeat(200 * KIB)) },
  },
  udp_log: {
    signal: "logs",
    config: { ...shared, operators: REGEX },
    transport: "udp",
    data: { "a packet of very short lines": () => packets("a") },
  },
  "statsd/tcp": {
    signal: "metrics",
    config: { endpoint: "127.0.0.1:$PORT", transport: "tcp", aggregation_interval: "1s" },
    data: {
      "very short lines": () => lines("a:1|c"),
      "lines that are no metrics": () => lines("a"),
      timers: () => lines("a:1|ms"),
      tags: () => lines(`a:1|c|#${"t:v,".repeat(10_000)}`),
    },
  },
  "statsd/udp": {
    signal: "metrics",
    config: { endpoint: "127.0.0.1:$PORT", aggregation_interval: "1s" },
    transport: "udp",
    data: { "a packet of very short lines": () => packets("a:1|c") },
  },
  fluent_forward: {
    signal: "logs",
    config: { endpoint: "127.0.0.1:$PORT" },
    data: {
      "a record of as many values as it may have": () => record(24_000),
      "a record of too many values": () => record(400_000),
      "records of many values": () => Buffer.concat(Array.from({ length: 200 }, () => record(4000))),
      "very many events": () => Buffer.alloc(600_000, byte(0x93, 0xa1, 0x61, 0, 0x80)),
      "very many entries": () => entries(300_000, byte(0x92, 0, 0x80)),
      "values nested deeply": () => Buffer.concat([MESSAGE, byte(0x81, 0xa1, 0x61), Buffer.alloc(2_000_000, 0x91)]),
    },
  },
};
