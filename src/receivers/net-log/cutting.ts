import { type CutState, type CutterSettings, createCutter, type RecordSink, textEncoding } from "#logs/entries";
import { compilePattern } from "#text/patterns";
import { turns } from "#work";
import type { TcpConfig, UdpConfig } from "./config.js";

/**
 * Cuts a connection's data into records. Returns how many bytes of the window are finished with. If the turn is over
 * before the end, it sets `hasMore`.
 */
export type Cut = (window: Buffer, state: CutState, isEnd: boolean, sink: RecordSink) => number;

/** No UDP packet is longer. */
const MAX_PACKET_SIZE = 65_535;

/** Cuts into lines, at a pattern or, with one_log_per_packet, not at all. */
export function createCut(config: TcpConfig | UdpConfig, isWhole: boolean, trailer: "LF" | "NUL" | undefined): Cut {
  const settings = cutterSettings(config, isWhole, trailer);
  const cutter = createCutter(settings);
  return (window, state, isEnd, sink) => cutter.cut(window, state, isEnd || config.one_log_per_packet, sink);
}

function cutterSettings(
  config: TcpConfig | UdpConfig,
  isWhole: boolean,
  trailer: "LF" | "NUL" | undefined,
): CutterSettings {
  const { multiline } = config;
  const whole = isWhole || config.one_log_per_packet ? NEVER_MATCHES : undefined;
  const source = multiline?.line_start_pattern || multiline?.line_end_pattern || (trailer === "NUL" ? "\\x00" : whole);
  return {
    encoding: textEncoding(config.encoding)!,
    maxLogSize: "max_log_size" in config ? config.max_log_size : MAX_PACKET_SIZE,
    truncates: false,
    trimsLeading: !config.preserve_leading_whitespaces,
    trimsTrailing: !config.preserve_trailing_whitespaces,
    ...(source !== undefined && {
      multiline: {
        pattern: compilePattern(`(?m)${source}`),
        isStart: (multiline?.line_start_pattern ?? "") !== "",
        omitsPattern: multiline?.omit_pattern ?? trailer === "NUL",
      },
    }),
  };
}

/** A pattern that never matches: the end of a text before its beginning. */
const NEVER_MATCHES = "\\z.\\A";

/** After so many messages the clock is looked at. */
const MESSAGES_PER_LOOK = 32;

/** Cuts messages that are preceded by their length (RFC 6587). Data without a length goes to `fallback`. */
export function octetCounting(maxOctets: number, fallback: Cut): Cut {
  return (window, state, isEnd, sink) => {
    let from = 0;
    for (let messages = 0; ; messages++) {
      if (messages > 0 && messages % MESSAGES_PER_LOOK === 0 && turns.isOver) {
        state.hasMore = true;
        return from;
      }
      const rest = window.subarray(from);
      const [head, digits] = /^(\d{1,7}) (?=<|$)/.exec(rest.subarray(0, 9).toString("latin1")) ?? [];
      if (head === undefined) {
        if (/^\d{0,7}$/.test(rest.toString("latin1", 0, 8)) && !isEnd) return from;
        return from + fallback(rest, state, isEnd, sink);
      }
      const length = Number(digits);
      if (length > maxOctets) return from + fallback(rest, state, isEnd, sink);
      const end = head.length + length;
      if (rest.length < end && !isEnd) return from;
      state.records++;
      const message = Buffer.from(rest.subarray(head.length, end).toString("utf8").trimEnd());
      if (message.length > 0) sink.takeText(message, 0, message.length, 0, state.records);
      from += Math.min(end, rest.length);
      if (from === window.length) return from;
    }
  };
}
