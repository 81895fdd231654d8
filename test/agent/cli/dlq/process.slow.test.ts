import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startApi } from "../../../extensions/admin-api/harness.js";
import { deadLetter } from "../../../runtime/queue/operate/controls.js";
import { queueOf, sluiceProcess, temporary } from "./support.js";

describe("the sluice dlq process", () => {
  it("lists and replays what a running agent has", async () => {
    const { a, url } = await startApi();
    const { entry } = await deadLetter(a, { at: Date.now() });
    const list = await sluiceProcess(["dlq", "list", "--api", url]);
    expect(list).toMatchObject({ code: 0, err: "", out: expect.stringContaining(entry.id) });
    const replay = await sluiceProcess(["dlq", "replay", entry.id, "--api", url, "--by", "ann"]);
    expect(replay).toEqual({ code: 0, err: "", out: "1 dead letter was queued again.\n" });
    expect((await a.store.find(entry.id))?.entry).toMatchObject({ state: "pending", cycles: [{ replayedBy: "ann" }] });
    expect((await sluiceProcess(["dlq", "replay", entry.id, "--api", url])).code).toBe(1);
  });

  it("opens the queues of a directory itself", async () => {
    const directory = await temporary();
    const ids = await queueOf(directory, "otlp_http", [{}, {}]);
    expect(await sluiceProcess(["dlq", "show", ids[0]!, "--payload", "--dir", directory])).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringContaining('"stringValue": "body 0"'),
    });
    const exported = await sluiceProcess(["dlq", "export", "--dir", directory]);
    expect(exported.out.trim().split("\n")).toHaveLength(2);
    expect((await sluiceProcess(["dlq", "purge", "--all", "--dir", directory])).code).toBe(2);
    expect(await sluiceProcess(["dlq", "purge", "--all", "--yes", "--dir", directory])).toMatchObject({ code: 0 });
    expect((await sluiceProcess(["dlq", "list", "--dir", directory])).out).toBe("No dead letters.\n");
  });

  it("uses ./data/queue when no agent answers, and reports it", async () => {
    const folder = await temporary();
    const nobody = { SLUICE_API: "http://127.0.0.1:1" };
    expect(await sluiceProcess(["dlq", "list"], folder, nobody)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/--api URL.*--dir DIR/),
    });
    await mkdir(join(folder, "data/queue"), { recursive: true });
    await queueOf(join(folder, "data/queue"), "otlp_http", [{}]);
    expect(await sluiceProcess(["dlq", "list"], folder, nobody)).toMatchObject({
      code: 0,
      out: expect.stringContaining("otlp_http"),
      err: expect.stringContaining("working on ./data/queue"),
    });
  });
});
