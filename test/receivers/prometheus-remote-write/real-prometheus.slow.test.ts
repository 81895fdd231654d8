import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { prometheusExporter } from "../../../src/exporters/prometheus/component.js";
import type { ReceiverFactory } from "../../../src/plugin.js";
import { remoteWriteReceiver } from "../../../src/receivers/prometheus-remote-write/component.js";
import { TestIntake } from "../../../src/testing.js";
import { gauge, histogram, sum } from "../../exporters/prometheus/metrics.js";
import { startExporter } from "../../exporters/prometheus/remote-write/harness.js";
import { CONDITION_LIMIT_MS } from "../../support/limits.js";
import { hasPrometheus, TestPrometheus } from "../../support/servers/prometheus.js";
import { resourcesOf, valuesOf } from "../http-client.js";
import { startReceiver } from "../started-receiver.js";

describe.skipIf(!hasPrometheus())("the prometheus_remote_write receiver", () => {
  it("takes what a real Prometheus writes", async () => {
    const intake = new TestIntake();
    const receiver = await startReceiver(
      remoteWriteReceiver as ReceiverFactory,
      { endpoint: "127.0.0.1:0" },
      intake,
      undefined,
      "metrics",
    );
    onTestFinished(() => receiver.stop?.());
    const port = await freePort();
    const scraped = await startExporter({ endpoint: `127.0.0.1:${port}` }, prometheusExporter);
    await scraped.send({
      resource: { "service.name": "cart", "service.instance.id": "1" },
      scope: { name: "lib", version: "1" },
      metrics: [gauge("g", -0.25, { a: "x" }), sum("n", 7), histogram("h", [1, 2], 12.5)],
    });
    const url = `http://127.0.0.1:${(receiver as unknown as { port: number }).port}/api/v1/write`;
    await TestPrometheus.startWriting([`127.0.0.1:${port}`], url);
    const values = () =>
      Object.fromEntries(
        intake.batches
          .flatMap(resourcesOf)
          .flatMap(({ resource, items }) =>
            items.flatMap(({ name, gauge: gauges }) =>
              (gauges?.dataPoints ?? []).map(({ asDouble, attributes }) => [
                `${resource["service.name"]} ${name} ${JSON.stringify(valuesOf(attributes))}`,
                asDouble,
              ]),
            ),
          ),
      );
    await expect.poll(values, { timeout: CONDITION_LIMIT_MS }).toMatchObject({
      'cart g {"a":"x"}': -0.25,
      "cart n_total {}": 7,
      "sluice up {}": 1,
    });
    expect(Object.keys(values()).join(" ")).toContain("cart h_seconds_bucket");
  });
});
