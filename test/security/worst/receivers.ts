import type { Signal } from "../../../src/plugin.js";

/** A receiver that takes JSON of another protocol than OTLP over HTTP, in pipelines of its own. */
export interface WorstReceiver {
  readonly signals: readonly Signal[];
  /** The log line that names its port. */
  readonly listening: string;
  readonly requests: Readonly<Record<string, () => string>>;
}

const MIB = 1024 * 1024;
/** As much as a request may have. */
const MOST_BYTES = 19 * MIB;
/** As much as a record may have. */
const RECORD_BYTES = MIB - 100;

const fill = (bytes: number, part: string) => part.repeat(bytes / Buffer.byteLength(part));
const list = (count: number, part: string) => Array.from({ length: count }, () => part).join(",");
const members = (count: number, value: string) => Array.from({ length: count }, (_, i) => `"a${i}":${value}`).join(",");
const message = (text: string) => `{"logs":[{"message":"${text}"}]}`;

export const WORST_RECEIVERS: Readonly<Record<string, WorstReceiver>> = {
  faro: {
    signals: ["logs", "traces"],
    listening: "listening for Faro's clients",
    requests: {
      "a text of quotes": () => message(fill(RECORD_BYTES, '\\"')),
      "a text of quotes that is too long": () => message(fill(MOST_BYTES, '\\"')),
      "a text of characters that need six": () => message(fill(RECORD_BYTES, "\x7f")),
      "a text of backspaces": () => message(fill(RECORD_BYTES, "\\b")),
      "a name of blanks": () => `{"logs":[{"context":{"${fill(RECORD_BYTES, " b")}":"c"}}]}`,
      "metadata of quotes for every record": () =>
        `{"meta":{"user":{"id":"${fill(RECORD_BYTES, '\\"')}"}},"logs":[${list(1000, "{}")}]}`,
      "very many members": () => `{${members(MOST_BYTES / 16, "1")}}`,
      "a number without an end": () => `{"logs":${fill(MOST_BYTES, "1")}}`,
      "empty records": () => `{"logs":[${list(300_000, "{}")}]}`,
      "as many values as a record may have": () => `{"measurements":[{"values":{${members(9900, "1.5")}}}]}`,
      "as many frames as a record may have": () => `{"exceptions":[{"stacktrace":{"frames":[${list(9900, "{}")}]}}]}`,
      "metadata that replace words of every record": () =>
        `{"meta":{"app":{"name":"x"},"user":{"attributes":{${members(9900, '"b"')}}}},"measurements":[${list(1000, '{"values":{"app_name":1}}')}]}`,
      "exceptions with varying parts": () =>
        `{"exceptions":[${list(3000, `{"value":"${"https://a ".repeat(400)}"}`)}]}`,
      "deep nesting": () => `{"logs":[{"context":${fill(RECORD_BYTES / 2, "[")}${fill(RECORD_BYTES / 2, "]")}}]}`,
      "resources of one span": () =>
        `{"traces":{"resourceSpans":[${list(100_000, '{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331"}]}]}')}]}}`,
    },
  },
};
