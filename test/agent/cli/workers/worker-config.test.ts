import { describe, expect, it } from "vitest";
import { configOfParent, configOfWorker } from "../../../../src/agent/cli/workers/worker-config.js";
import { resolve } from "../../../support/agent.js";

const config = resolve(`
receivers: {otlp: {limits: {max_connections: 90}, protocols: {http: {endpoint: "127.0.0.1:0"}}}}
processors:
  memory_limiter: {limit_mib: 300, spike_limit_mib: 60}
  rate_limit: {limit: 100, burst: 31, global: {limit: 2}}
exporters: {nop: {}}
extensions: {bearertokenauth: {token: "a-long-enough-token"}, health_check: {}}
service:
  workers: 3
  intake: {max_bytes: 9MiB}
  extensions: [bearertokenauth, health_check]
  pipelines: {logs: {receivers: [otlp], processors: [memory_limiter, rate_limit], exporters: [nop]}}
`);

describe("the config of one of three workers", () => {
  it("has a third of each limit, and at least one", () => {
    const worker = configOfWorker(config, 3);
    expect(worker.service.intake.max_bytes).toBe(3 * 1024 * 1024);
    expect(worker.receivers.get("otlp")!.config).toMatchObject({ limits: { max_connections: 30 } });
    expect(worker.processors.get("memory_limiter")!.config).toMatchObject({ limit_mib: 100, spike_limit_mib: 20 });
    expect(worker.processors.get("rate_limit")!.config).toMatchObject({
      perKey: { limit: 33, burst: 10 },
      global: { limit: 1 },
    });
  });

  it("leaves the extensions that show the agent to the parent", () => {
    expect([...configOfWorker(config, 3).extensions.keys()]).toEqual(["bearertokenauth"]);
    expect([...configOfParent(config).extensions.keys()]).toEqual(["bearertokenauth", "health_check"]);
    expect(configOfParent(config).pipelines).toEqual([]);
  });
});
