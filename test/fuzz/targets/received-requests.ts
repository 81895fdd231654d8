import { type Batch, isMalformed, type ReceiverContext, type ReceiverFactory } from "../../../src/plugin.js";
import { faroFormat } from "../../../src/receivers/faro/format.js";
import { remoteWriteFormat } from "../../../src/receivers/prometheus-remote-write/format.js";
import { splunkHecReceiver } from "../../../src/receivers/splunk-hec/component.js";
import type { SplunkHecReceiverConfig } from "../../../src/receivers/splunk-hec/config.js";
import { hecFormat } from "../../../src/receivers/splunk-hec/format.js";
import { HecError } from "../../../src/receivers/splunk-hec/hec-answers.js";
import { webhookEventReceiver } from "../../../src/receivers/webhook-event/component.js";
import type { WebhookEventConfig } from "../../../src/receivers/webhook-event/config.js";
import { webhookFormat } from "../../../src/receivers/webhook-event/format.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import type { BodyEncoding, RequestFormat } from "../../../src/runtime/receiving/requests/request-format.js";
import { atOnce } from "../../../src/runtime/work/door.js";
import { v1Request, v2Request } from "../../receivers/prometheus-remote-write/write-request.js";
import { assert, type FuzzTarget, magnitude, shapeOf } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { textMutator } from "../mutate-text.js";
import { mutateWire } from "../mutate-wire.js";

const MAX_ELEMENTS = 5000;
const HEAD = { method: "POST", url: "/?a=b", headers: {}, headersDistinct: {} };
const context = {
  id: "fuzzed",
  clock: systemClock,
  intakes: { logs: {}, metrics: {}, traces: {} },
} as unknown as ReceiverContext;
const parsed = <Config>(factory: unknown, config: object) =>
  (factory as ReceiverFactory).schema.parse({ endpoint: "127.0.0.1:0", ...config }) as Config;

const FARO_PAYLOAD = Buffer.from(
  '{"logs":[{"message":"a","level":"info","context":{"b":"c"},"timestamp":"2026-01-31T10:46:17.680Z",' +
    '"trace":{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331"}}],"exceptions":[{"type":"E",' +
    '"value":"no id: 7","stacktrace":{"frames":[{"function":"f","lineno":3}]}}],"measurements":[{"values":{"a":1.5}}],' +
    '"events":[{"name":"n","attributes":{"k":"v"}}],"traces":{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"s"}]}]}]},' +
    '"meta":{"app":{"name":"shop"},"browser":{"mobile":true,"brands":[{"brand":"b"}]}}}',
);

const hec = hecFormat(parsed<SplunkHecReceiverConfig>(splunkHecReceiver, {}), context);
const webhooks = webhookFormat(
  parsed<WebhookEventConfig>(webhookEventReceiver, { split_logs_at_json_boundary: true }),
  context,
);

async function runRequest(format: RequestFormat, encoding: BodyEncoding, input: Buffer): Promise<string> {
  let batches: readonly Batch[];
  try {
    ({ batches } = atOnce(format.toBatches!(HEAD, encoding, [input], MAX_ELEMENTS)));
  } catch (error) {
    assert(isMalformed(error) || error instanceof HecError, `threw ${error}`);
    return shapeOf((error as Error).message);
  }
  for (const batch of batches) holdToOtlp(batch);
  return batches
    .map(({ signal, count, byteLength }) => `${signal} ${magnitude(count)} ${magnitude(byteLength)}`)
    .join();
}

const LABELS = { __name__: "n_total", job: "eu/shop", instance: "a:1", otel_scope_name: "lib", code: "200" };
/** A native histogram with spans on both sides, and one with custom buckets. */
const HISTOGRAMS = [
  "CAwZAAAAAACAOUAgAil8FK5H4XqEPzACQgIQAUoBAloCEAJaBAgCEAJiBAIEAQZ4gLigpb0x",
  "CAYZAAAAAAAAJEAgaVoCEANiAwICAnjgypCm+TGCARgAAAAAAADwPwAAAAAAAARAAAAAAAAAFEA=",
].map((each) => Buffer.from(each, "base64"));
const SERIES = [
  { labels: LABELS, samples: [[1, 1_700_000_000_000]], type: 1, help: "All.", unit: "seconds" },
  { labels: { __name__: "target_info", job: "eu/shop", host: "h" }, samples: [[1, 1_700_000_000_000]] },
  { labels: { __name__: "h" }, type: 3, histograms: HISTOGRAMS },
] as const;

const EVENTS = [
  '{"time":1700000000.5,"host":"h","source":"s","event":{"a":[1,{"b":null}],"c":true},"fields":{"x":"y","z":[1,"a"]}}',
  '{"event":"metric","time":"1700000000","fields":{"metric_name:a.b":1,"metric_name":"c","_value":"2.5","d":1e300}}',
  '[{"event":"a"},{"event":7,"index":"i"}]',
];

/** Requests of receivers over HTTP that speak another protocol than OTLP. */
export const requestTargets: readonly FuzzTarget[] = [
  {
    name: "remote write 2.0",
    share: 4,
    seeds: [v2Request(SERIES)],
    mutate: mutateWire,
    run: (input) => runRequest(remoteWriteFormat(), "other/v2", input),
  },
  {
    name: "remote write 1.0",
    share: 2,
    seeds: [v1Request(SERIES)],
    mutate: mutateWire,
    run: (input) => runRequest(remoteWriteFormat(), "other/v1", input),
  },
  {
    name: "events for Splunk",
    share: 4,
    seeds: EVENTS.map((each) => Buffer.from(each)),
    mutate: textMutator([
      ...'{}[]:,"',
      "null",
      "1e999",
      "[]",
      "{}",
      '"event":',
      '"fields":{',
      '"metric_name:a":',
      '"__proto__":',
    ]),
    run: (input) => runRequest(hec, "other", input),
  },
  {
    name: "webhooks",
    share: 1,
    seeds: [Buffer.from('{"a":1}{"b":[2,"x"]} 12 "text"\n')],
    mutate: textMutator([...'{}[]:,"\\', "null", " ", "\n", "1"]),
    run: (input) => runRequest(webhooks, "other", input),
  },
  {
    name: "payloads of Faro",
    share: 1,
    seeds: [FARO_PAYLOAD],
    mutate: textMutator([...'{}[]:,"\\', "null", "1.5", "true", '"logs"', '"meta"', '"traces"']),
    run: (input) => runRequest(faroFormat(context), "other", input),
  },
];
