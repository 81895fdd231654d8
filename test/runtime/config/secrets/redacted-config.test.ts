// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config language is written with ${}
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { redactedConfig } from "../../../../src/runtime/config/secrets/redacted-config.js";
import { registry } from "../fakes.js";
import { GOOD, loadText } from "../load-text.js";

describe("redactedConfig", () => {
  const print = (text: string, defaults: boolean) =>
    redactedConfig(loadText(text, { env: { PORT: "0123" } }).tree!, { registry, defaults });

  it("gives what is written when no defaults are asked for", () => {
    expect(print(GOOD, false)).toEqual(parse(GOOD));
  });

  it("replaces references, and keeps the text of string fields", () => {
    const text = GOOD.replace("0.0.0.0:4318", "${env:PORT}");
    expect(print(text, false)["receivers"]).toMatchObject({ otlp: { protocols: { http: { endpoint: "0123" } } } });
  });

  it("adds defaults as one would write them", () => {
    expect(print(GOOD, true)).toMatchObject({
      receivers: { otlp: { protocols: { grpc: { endpoint: "localhost:4317", max_recv_msg_size_mib: 4 } } } },
      processors: { batch: { timeout: "200ms", send_batch_size: 8192 } },
      exporters: { debug: { verbosity: "basic" } },
      service: { shutdown_timeout: "10s", intake: { max_bytes: "64MiB" } },
    });
  });

  it("adds the defaults of an exporter's type", () => {
    expect(print("exporters: {otlphttp: {endpoint: h}}", true)["exporters"]).toMatchObject({
      otlphttp: { timeout: "30s", encoding: "proto" },
    });
  });

  it("shows the ids of extensions and pipelines that were merged from several files", () => {
    const first = "service: {extensions: [a], pipelines: {logs: {receivers: [otlp], exporters: [debug]}}}";
    const sources = [
      { text: first, name: "a.yaml" },
      { text: "service: {pipelines: {logs: {error_mode: dead_letter}}}", name: "b.yaml" },
    ];
    const { tree } = loadText("", { sources });
    expect(redactedConfig(tree!, { registry, defaults: false })).toEqual({
      service: {
        extensions: ["a"],
        pipelines: { logs: { receivers: ["otlp"], exporters: ["debug"], error_mode: "dead_letter" } },
      },
    });
  });

  it("gives a config that loads to the same, defaults or not", () => {
    const plain = loadText(GOOD).config!;
    for (const defaults of [true, false]) {
      const again = loadText(stringify(print(GOOD, defaults)));
      expect(again.problems).toEqual([]);
      expect(again.config!.receivers.get("otlp")!.config).toEqual(plain.receivers.get("otlp")!.config);
      expect(again.config!.processors.get("batch")!.config).toEqual(plain.processors.get("batch")!.config);
      expect(again.config!.service).toEqual(plain.service);
    }
  });
});
