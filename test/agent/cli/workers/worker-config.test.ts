import { describe, expect, it } from "vitest";
import { configOfParent, configOfWorker } from "../../../../src/agent/cli/workers/worker-config.js";
import { resolve } from "../../../support/agent.js";

const config = resolve(`
receivers:
  otlp: {limits: {max_connections: 91, max_connections_per_client: 7}, protocols: {http: {endpoint: "127.0.0.1:0"}}}
  otlp/once: {limits: {max_connections: 91}, dedup: {enabled: true}, protocols: {http: {endpoint: "127.0.0.1:0"}}}
processors:
  memory_limiter: {limit_mib: 300, spike_limit_mib: 60}
  rate_limit: {limit: 101, burst: 31, global: {limit: 2}}
exporters: {nop: {}}
extensions: {bearertokenauth: {token: "a-long-enough-token"}, health_check: {}}
service:
  workers: 3
  intake: {max_bytes: 9MiB}
  extensions: [bearertokenauth, health_check]
  pipelines: {logs: {receivers: [otlp, otlp/once], processors: [memory_limiter, rate_limit], exporters: [nop]}}
`);

describe("the config of one of three workers", () => {
  const workers = [1, 2, 3].map((number) => configOfWorker(config, { number, count: 3 }));

  it("has its share of each limit: all shares together are the limit", () => {
    for (const { service, processors } of workers) {
      expect(service.intake.max_bytes).toBe(3 * 1024 * 1024);
      expect(processors.get("memory_limiter")!.config).toMatchObject({ limit_mib: 100, spike_limit_mib: 20 });
    }
    const connections = workers.map(({ receivers }) => receivers.get("otlp")!.config);
    expect(connections).toMatchObject([
      { limits: { max_connections: 31, max_connections_per_client: 3 } },
      { limits: { max_connections: 30, max_connections_per_client: 2 } },
      { limits: { max_connections: 30, max_connections_per_client: 2 } },
    ]);
    const rates = workers.map(({ processors }) => processors.get("rate_limit")!.config);
    expect(rates).toMatchObject([
      { perKey: { limit: 34, burst: 11 } },
      { perKey: { limit: 34, burst: 10 } },
      { perKey: { limit: 33, burst: 10 } },
    ]);
  });

  it("has at least one of a limit that is smaller than the number of workers", () => {
    for (const { processors } of workers)
      expect(processors.get("rate_limit")!.config).toMatchObject({ global: { limit: 1 } });
  });

  it("has the whole limit of a receiver that only one worker runs", () => {
    for (const { receivers } of workers)
      expect(receivers.get("otlp/once")!.config).toMatchObject({ limits: { max_connections: 91 } });
  });

  it("leaves the extensions that show the agent to the parent", () => {
    expect([...workers[0]!.extensions.keys()]).toEqual(["bearertokenauth"]);
    expect([...configOfParent(config).extensions.keys()]).toEqual(["bearertokenauth", "health_check"]);
    expect(configOfParent(config).pipelines).toEqual([]);
  });
});
