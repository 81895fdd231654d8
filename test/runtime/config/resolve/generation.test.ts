import { describe, expect, it } from "vitest";
import { resolve } from "../../../support/agent.js";

const generation = (yaml: string) => resolve(yaml).generation;
const rest = "service: {pipelines: {logs: {receivers: [otlp], exporters: [nop]}}}";

describe("the generation of a config", () => {
  it("is the same for the same config, however it is written", () => {
    const flow = `receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}\nexporters: {nop: }\n${rest}`;
    const block = `# a comment
exporters:
  nop:
${rest}
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:0
`;
    expect(generation(block)).toBe(generation(flow));
    expect(generation(flow)).toMatch(/^[0-9a-f]{12}$/);
  });

  it("is another one when a value, a key or the order of a list differs", () => {
    const config = (endpoint: string, processors: string) =>
      `receivers: {otlp: {protocols: {http: {endpoint: "${endpoint}"}}}}
processors: {batch: {}, batch/second: {}}
exporters: {nop: }
service: {pipelines: {logs: {receivers: [otlp], processors: [${processors}], exporters: [nop]}}}`;
    const all = [
      config("127.0.0.1:0", "batch, batch/second"),
      config("127.0.0.1:1", "batch, batch/second"),
      config("127.0.0.1:0", "batch/second, batch"),
      config("127.0.0.1:0", "batch"),
    ].map(generation);
    expect(new Set(all).size).toBe(4);
  });
});
