import http from "node:http";
import { jaegerExporter } from "../../dist/exporters/jaeger/jaeger.js";
import { zipkinExporter } from "../../dist/exporters/zipkin/zipkin.js";
import { Batch } from "../../dist/plugin.js";
import { systemClock } from "../../dist/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../dist/runtime/contract/observability.js";
import { RENDERED_SERIES, seeded, spans, thriftBatch } from "./load.js";

/**
 * What works on components from outside of their process. Each gives a function that does it once, and says how many
 * records that were.
 *
 * @type {Record<string, (port: number) => Promise<() => Promise<number>>>}
 */
export const DRIVERS = {
  "prometheus exporter, 100,000 series shown": async (port) => async () => {
    const size = await ask({ port, path: "/metrics" }, undefined);
    if (size < RENDERED_SERIES * 50) throw new Error(`the page has only ${size} bytes`);
    return RENDERED_SERIES;
  },
  "jaeger, thrift over HTTP": async (port) => {
    const body = thriftBatch(SPANS);
    const headers = { "content-type": "application/vnd.apache.thrift.binary", "content-length": body.length };
    return async () => {
      await ask({ port, path: "/api/traces", method: "POST", headers }, body);
      return SPANS;
    };
  },
  "jaeger, gRPC": async (port) =>
    sending(jaegerExporter, { endpoint: `127.0.0.1:${port}`, tls: { insecure: true }, compression: "none" }),
  "zipkin, JSON": async (port) => sending(zipkinExporter, { endpoint: `http://127.0.0.1:${port}/api/v2/spans` }),
};

const SPANS = 1000;
const agent = new http.Agent({ keepAlive: true });

/** @param {http.RequestOptions} options @param {Buffer | undefined} body @returns {Promise<number>} */
function ask(options, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", agent, ...options }, (response) => {
      let size = 0;
      response.on("data", (chunk) => {
        size += chunk.length;
      });
      response.on("error", reject);
      const { statusCode = 0 } = response;
      response.on("end", () => (statusCode < 300 ? resolve(size) : reject(new Error(`it answered ${statusCode}`))));
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Spans of our own exporter, for what only speaks to others. */
async function sending(/** @type {any} */ definition, /** @type {object} */ keys) {
  const services = { logger: silentLogger, metrics: noMetrics, clock: systemClock, random: Math.random };
  const exporter = definition.create(definition.schema.parse(keys), { id: "bench", kind: "exporter", ...services });
  await exporter.start?.();
  const batch = Batch.admit("traces", spans(SPANS, 100, seeded()));
  return async () => {
    await exporter.send(batch, new AbortController().signal);
    return batch.count;
  };
}
