import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { otlpGrpcExporter } from "../../src/exporters/otlp-grpc/component.js";
import { otlpHttpExporter } from "../../src/exporters/otlp-http/component.js";
import { Batch } from "../../src/plugin.js";
import { type Running, startReceiver } from "../receivers/otlp/harness.js";
import { wire } from "../receivers/otlp/requests.js";
import { availableHere } from "../support/telemetry/with-zstd.js";
import { never, startExporter } from "./harness.js";

/** The compressions that a Collector can be configured to send over HTTP. */
const COLLECTORS = availableHere(["gzip", "zlib", "deflate", "snappy", "x-snappy-framed", "zstd", "lz4"]);

describe("compression from exporter to receiver", () => {
  let running: Running;
  beforeAll(async () => {
    running = await startReceiver({ grpc: { endpoint: "127.0.0.1:0" }, http: { endpoint: "127.0.0.1:0" } });
  });
  afterAll(() => running.receiver.stop());

  const transports = [
    ...["none", ...COLLECTORS].map((compression) => ({ over: "HTTP", compression })),
    ...availableHere(["none", "gzip", "snappy", "zstd"]).map((compression) => ({ over: "gRPC", compression })),
  ];

  it.each(transports)("carries $compression over $over", async ({ over, compression }) => {
    const exporter = await (over === "HTTP"
      ? startExporter(otlpHttpExporter, { endpoint: `http://127.0.0.1:${running.http}`, compression })
      : startExporter(otlpGrpcExporter, {
          endpoint: `127.0.0.1:${running.grpc}`,
          compression,
          tls: { insecure: true },
        }));
    await exporter.send(Batch.admit("logs", wire("logs", 2000)), never);
    await exporter.stop?.();
    expect(Buffer.from(running.intakes.logs.batches.at(-1)!.bytes).equals(wire("logs", 2000))).toBe(true);
  });
});
