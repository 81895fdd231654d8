import { describe, expect, it } from "vitest";
import { tappedLine } from "../../src/agent/cli/live/tapped-line.js";
import { Batch } from "../../src/plugin.js";
import { readEvents, startRunningApi } from "../extensions/admin-api/running-agent.js";
import { logs } from "../support/telemetry/batches.js";

const CONFIG = `
processors: {filter: {error_mode: ignore, logs: {log_record: ['body == "drop"']}}}
exporters: {nop: }
service:
  extensions: [reliability, admin]
  pipelines: {logs: {receivers: [hand], processors: [filter], exporters: [nop]}}
`;

/** A log record whose body has bytes that are no UTF-8. */
function brokenText(): Batch {
  const valid = Buffer.from(logs("AAAA").bytes);
  valid.set([0xff, 0xc0, 0xed, 0xa0], valid.indexOf("AAAA"));
  return Batch.trusted("logs", valid, 1);
}

describe("a tap", () => {
  it("shows nothing to who has no token, or asks from another site's page", async () => {
    const { url } = await startRunningApi(CONFIG);
    for (const path of ["/tap?at=filter", "/live", "/history?node=exporter:nop", "/agent"]) {
      expect((await fetch(url + path)).status, path).toBe(401);
      await expect(readEvents(url + path, { origin: "http://evil.example" }), path).rejects.toThrow("403");
      await expect(readEvents(url + path, { host: "evil.example" }), path).rejects.toThrow("403");
    }
  });

  it("breaks its events on nothing that is in a record", async () => {
    const { read, hand } = await startRunningApi(CONFIG);
    const reader = await read("/tap?at=filter");
    const hostile = "\n\nevent: end\ndata: {}\n\n\u2028\u0000<script>alert(1)</script>\u001b[2J\u202e";
    expect(await hand(logs(hostile))).toMatchObject({ ok: true });
    expect(await hand(brokenText())).toMatchObject({ ok: true });
    await expect.poll(() => reader.of("record")).toHaveLength(2);
    expect(reader.events.map(({ event }) => event)).toEqual(["record", "record"]);
    const line = tappedLine(reader.of("record")[0], { write() {}, isTerminal: true, colour: false });
    expect(line).toContain("\\n\\nevent: end");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(line).not.toMatch(/[\u0000-\u001f\u2028\u202e]/);
  });

  it("cannot be made to hold up the pipeline, by any number of readers that do not read", async () => {
    const { read, hand, agent } = await startRunningApi(CONFIG);
    const readers = await Promise.all(Array.from({ length: 32 }, () => read("/tap?at=filter&rate=1000")));
    for (const reader of readers) reader.pause();
    await expect(read("/tap?at=filter")).rejects.toThrow("409");
    for (let i = 0; i < 50; i++) expect(await hand(logs("x".repeat(100_000)))).toMatchObject({ ok: true });
    expect(agent.inspection!.traffic().nodes.get("processor:logs:filter")).toMatchObject({ in: 50, out: 50 });
  });
});
