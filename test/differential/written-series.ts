import { NO_VALUE, readRequest, type WrittenSeries } from "../../src/receivers/prometheus-remote-write/read-request.js";
import { decompress } from "../../src/runtime/codecs/compression/decompress.js";

const LIMIT = 10_000_000;

/** The series of a request of remote write 1.0, a line for each sample and exemplar. Native histograms are counted only. */
export async function linesOfWrite(body: Buffer): Promise<string[]> {
  const request = readRequest(await decompress("snappy", body, { limit: LIMIT, reserve: () => true }), false, LIMIT);
  const lines: string[] = [];
  for (let series = request.nextSeries(); series !== undefined; series = request.nextSeries())
    lines.push(...linesOfSeries(series, request.bytes));
  return lines;
}

function linesOfSeries({ labels, samples, histograms, exemplars }: WrittenSeries, bytes: Buffer): string[] {
  const series = labelText(labels);
  return [
    ...samples.map(({ valueAt, timestamp }) => `${series} ${numberText(bytes, valueAt)} ${timestamp}`),
    ...exemplars.map((each) => `${series} exemplar ${labelText(each.labels)} ${each.value} ${each.timestamp}`),
    ...histograms.map(() => `${series} histogram`),
  ];
}

function numberText(bytes: Buffer, at: number): string {
  return at === NO_VALUE ? "0" : String(bytes.readDoubleLE(at));
}

/** To Prometheus a label without a value is none. */
function labelText(labels: readonly string[]): string {
  const pairs = labels.flatMap((name, i) =>
    i % 2 === 0 && labels[i + 1] !== "" ? [`${name}=${JSON.stringify(labels[i + 1])}`] : [],
  );
  return `{${pairs.sort().join(",")}}`;
}
