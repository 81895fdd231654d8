import { ExpositionReader, type TextFormat } from "../../../src/receivers/prometheus/exposition/exposition-reader.js";
import { ProtobufReader } from "../../../src/receivers/prometheus/exposition/protobuf-reader.js";
import { ExpositionError } from "../../../src/receivers/prometheus/exposition/series-text.js";
import { ScrapeSeries } from "../../../src/receivers/prometheus/series/scrape-series.js";
import { writeBatches } from "../../../src/receivers/prometheus/series/write-batches.js";
import { SCRAPE_SETTINGS } from "../../receivers/prometheus/harness.js";
import * as families from "../../receivers/prometheus/metric-families.js";
import { assert, type FuzzTarget, magnitude, pieces, shapeOf } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { mutateBytes } from "../mutate-bytes.js";
import { textMutator } from "../mutate-text.js";
import type { Random } from "../random.js";

const EXPOSITION = `# HELP requests_total All of "them"\\n.
# TYPE requests_total counter
requests_total{code="200",path="a\\"b\\\\"} 7 1700000000000
requests_total{code="500"} +Inf
# TYPE latency histogram
latency_bucket{le="0.1"} 1
latency_bucket{le="+Inf"} 3
latency_sum 4.5e0
latency_count 3
{"my.gauge","a.b"="c"} NaN
`;
const OPENMETRICS = `# TYPE latency_seconds histogram
# UNIT latency_seconds seconds
latency_seconds_bucket{le="0.1"} 1 # {trace_id="abc"} 0.05 1700000000.5
latency_seconds_bucket{le="+Inf"} 3 1700000001
latency_seconds_count 3
latency_seconds_sum 4.5
latency_seconds_created 1700000000
# TYPE build info
build_info{version="1"} 1
# EOF
`;
const METRIC_WORDS = ["# TYPE ", "# HELP ", "# UNIT ", "# EOF\n", "NaN", "+Inf", "-Inf", "0x1p-2", "_total", "_bucket"];
const { family, metric, counter, gauge, summary, histogram, bucket, native, exemplar, timestamp } = families;
const FAMILIES = Buffer.concat([
  family("requests_total", "counter", metric({ code: "200" }, counter(7, exemplar(2, { trace_id: "ab" }, 1, 5)))),
  family("temperature", "gauge", metric({}, gauge(-3.5), families.uintField(6, 1_700_000_000_000))),
  family("size", "summary", metric({}, summary(2, 30, { 0.5: 10 }))),
  family("latency", "histogram", metric({}, histogram(families.uintField(1, 3), bucket(1, 2), timestamp(15, 5)))),
  family(
    "n",
    "histogram",
    metric({}, native({ count: 8, schema: 2, zeroCount: 1, positive: [[-2, 2]], deltas: [1, 5] })),
  ),
]);

/** Metrics as they are scraped. */
export const expositionTargets: readonly FuzzTarget[] = [
  textTarget("Prometheus's text", "prometheus", EXPOSITION),
  textTarget("OpenMetrics", "openmetrics", OPENMETRICS),
  {
    name: "Prometheus's protobuf",
    share: 6,
    seeds: [FAMILIES],
    mutate: mutateBytes,
    run: (input, random) => runExposition(input, random, (series) => new ProtobufReader(series)),
  },
];

function textTarget(name: string, format: TextFormat, seed: string): FuzzTarget {
  return {
    name,
    share: 4,
    seeds: [Buffer.from(seed)],
    mutate: textMutator([...'{}=",#\\ \n', ...METRIC_WORDS]),
    run: (input, random) => runExposition(input, random, (series) => new ExpositionReader(format, series)),
  };
}

type MakeReader = (series: ScrapeSeries) => ExpositionReader | ProtobufReader;

/** However the bytes are cut, they are the same metrics; and what comes of them is OTLP. */
function runExposition(input: Buffer, random: Random, makeReader: MakeReader): string {
  const whole = readExposition([input], makeReader);
  if (!random.oneIn(4)) return whole.outcome;
  const cut = readExposition(pieces(input, random), makeReader);
  assert(cut.outcome === whole.outcome, `the same bytes in other pieces: ${whole.outcome} or ${cut.outcome}`);
  assert(cut.bytes.equals(whole.bytes), "the same bytes in other pieces are other metrics");
  return whole.outcome;
}

function readExposition(chunks: readonly Buffer[], makeReader: MakeReader) {
  const series = new ScrapeSeries({ ...SCRAPE_SETTINGS, room: { left: 2000, max: 2000 } });
  series.begin();
  const reader = makeReader(series);
  try {
    for (const chunk of chunks) reader.push(Buffer.from(chunk));
    reader.end();
  } catch (error) {
    if (!(error instanceof ExpositionError)) throw error;
    return { outcome: shapeOf(error.message), bytes: Buffer.alloc(0) };
  }
  series.complete();
  let lost = 0;
  const batches = [...writeBatches(series, 1_700_000_060_000, () => void lost++)];
  for (const batch of batches) holdToOtlp(batch);
  const points = batches.reduce((sum, { count }) => sum + count, 0);
  return {
    outcome: `${magnitude(points)} points, ${magnitude(lost)} lost`,
    bytes: Buffer.concat(batches.map(({ bytes }) => bytes)),
  };
}
