import { z } from "zod";
import { operatorsSchema, syslogLocation, templateTexts } from "#logs";
import { textEncoding } from "#logs/entries";
import { hostPort, tlsServer } from "#net";
import { compilePattern } from "#text/patterns";
import { byteSize, deprecated, duration, ignored, section } from "../../plugin.js";

function pattern() {
  return z.string().superRefine((source, context) => {
    try {
      compilePattern(`(?m)${source}`);
    } catch (error) {
      context.addIssue({ code: "custom", message: `not a pattern: ${(error as Error).message}` });
    }
  });
}

function flag(description: string) {
  return z.boolean().default(false).meta({ description });
}

const multiline = z
  .strictObject({
    line_start_pattern: pattern().default("").meta({ description: "Where a record begins, in RE2 syntax." }),
    line_end_pattern: pattern().default("").meta({ description: "Where a record ends, in RE2 syntax." }),
    omit_pattern: flag("Remove the text that the pattern matched from the record."),
  })
  .refine(
    ({ line_start_pattern: start, line_end_pattern: end }) => start === "" || end === "",
    "expected only one of line_start_pattern and line_end_pattern",
  );

const listening = {
  listen_address: hostPort("0.0.0.0:54525").meta({ description: "Where it listens." }),
  add_attributes: flag("Add net.transport, net.peer.ip, net.peer.port, net.host.ip and net.host.port."),
  one_log_per_packet: flag("Each piece of data received at once is one record, whatever it contains."),
  encoding: z
    .string()
    .default("utf-8")
    .refine(
      (name) => textEncoding(name) !== undefined,
      "expected nop, utf-8, utf-16le, utf-16be, ascii, or another name that Node.js's TextDecoder knows",
    )
    .meta({ description: "The encoding of the text." }),
  multiline: section(multiline)
    .optional()
    .meta({ description: "For records that do not consist of exactly one line." }),
  preserve_leading_whitespaces: flag("Keep white space at the start of a record."),
  preserve_trailing_whitespaces: flag("Keep white space at the end of a record."),
};

const MIN_LOG_SIZE = 64 * 1024;

const tcpKeys = {
  ...listening,
  tls: section(tlsServer()).optional().meta({ description: "Certificates, for connections with TLS." }),
  max_log_size: byteSize()
    .refine((size) => size >= MIN_LOG_SIZE && size <= 512 * 1024 * 1024, "expected at least 64KiB and at most 512MiB")
    .default(1024 * 1024)
    .meta({ description: "The longest record; a longer one becomes several." }),
  max_connections: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .meta({ description: "Connections that may be open; 0: 1000." }),
  connection_idle_timeout: duration()
    .default(0)
    .meta({ description: "A connection is closed after this time without data; 0 means never." }),
};

const udpKeys = { ...listening, async: ignored("packets are read as they arrive") };

const values = () =>
  templateTexts()
    .nullish()
    .transform((map) => map ?? {});

/** Keys that all log receivers of this folder share. */
const shared = {
  operators: operatorsSchema.default([]).meta({ description: "Operators that process records, in this order." }),
  attributes: values().meta({ description: "Attributes of every record; EXPR(...) in them is an expression." }),
  resource: values().meta({ description: "Attributes of the resource." }),
  retry_on_failure: ignored("temporarily refused records are always retried until they are accepted"),
  storage: ignored("there is no position to store"),
  output: ignored("records go to the pipelines that name the receiver"),
  id: ignored("the receiver's name is its id"),
  type: ignored("the receiver's name says it"),
};

export const tcpLogSchema = z.strictObject({ ...tcpKeys, ...shared });
export const udpLogSchema = z.strictObject({ ...udpKeys, ...shared });

export const syslogSchema = z
  .strictObject({
    tcp: section(z.strictObject(tcpKeys)).optional().meta({ description: "Receive messages over TCP." }),
    udp: section(z.strictObject(udpKeys)).optional().meta({ description: "Receive messages over UDP." }),
    protocol: z.enum(["rfc3164", "rfc5424"]).default("rfc5424").meta({ description: "The form of the messages." }),
    location: syslogLocation().meta({ description: "The time zone of RFC 3164's times." }),
    enable_octet_counting: flag("Over TCP each message is preceded by its length."),
    max_octets: z
      .number()
      .int()
      .positive()
      .default(8192)
      .meta({ description: "The longest message with octet counting." }),
    allow_skip_pri_header: flag("The priority may be missing."),
    non_transparent_framing_trailer: z
      .enum(["LF", "NUL"])
      .nullish()
      .meta({ description: "What ends a message over TCP. Default: LF." }),
    on_error: z
      .enum(["send", "drop", "send_quiet", "drop_quiet"])
      .default("send")
      .meta({ description: "How messages that are not valid syslog are handled." }),
    parse_from: deprecated(z.string().optional().meta({ description: "It is always the body." }), "leave it out"),
    parse_to: z.string().default("attributes").meta({ description: "Where the parts of a message go." }),
    ...shared,
  })
  .superRefine(({ tcp, udp, enable_octet_counting: counts, non_transparent_framing_trailer: trailer }, context) => {
    if ((tcp === undefined) === (udp === undefined))
      context.addIssue({ code: "custom", path: ["tcp"], message: "expected one of tcp and udp" });
    if (trailer && counts) {
      const message = "messages with their lengths have no trailer: leave one of both out";
      context.addIssue({ code: "custom", path: ["non_transparent_framing_trailer"], message });
    }
  });

export type TcpConfig = z.infer<z.ZodObject<typeof tcpKeys>>;
export type UdpConfig = z.infer<z.ZodObject<typeof udpKeys>>;
export type TcpLogConfig = z.infer<typeof tcpLogSchema>;
export type UdpLogConfig = z.infer<typeof udpLogSchema>;
export type SyslogConfig = z.infer<typeof syslogSchema>;
