// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config language is written with ${}
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { byteSizeText, durationText } from "../../../../src/runtime/config/schema/duration-text.js";
import { redactedConfig } from "../../../../src/runtime/config/secrets/redacted-config.js";
import { parseByteSize, parseDuration } from "../../../../src/runtime/contract/schema/schema.js";
import { registry } from "../fakes.js";
import { GOOD, loadText } from "../load-text.js";

describe("printable", () => {
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

describe("durationText", () => {
  it.each([
    [0, "0s"],
    [0.00001, "10ns"],
    [0.5, "500us"],
    [200, "200ms"],
    [1500, "1.5s"],
    [60_000, "1m"],
    [95_000, "1m35s"],
    [5_400_000, "1.5h"],
    [1234, "1234ms"],
  ])("writes %d ms as %s, which reads back", (ms, text) => {
    expect(durationText(ms)).toBe(text);
    expect(parseDuration(text)).toBeCloseTo(ms, 6);
  });
});

describe("byteSizeText", () => {
  it.each([
    [64 * 1024 * 1024, "64MiB"],
    [1024, "1KiB"],
    [1000, "1000"],
    [0, "0"],
  ])("writes %d as %s, which reads back", (bytes, text) => {
    expect(byteSizeText(bytes)).toBe(text);
    expect(parseByteSize(text)).toBe(bytes);
  });
});
