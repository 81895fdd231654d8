import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { batchFromJson, defineExporter } from "../../../../src/plugin.js";
import { cleanUp, startWrapped } from "../../../runtime/queue/agent.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

afterEach(cleanUp);

const QUICK =
  "retry_on_failure: {initial_interval: 1ms, max_interval: 2ms, rate_limit: {per_second: 10000}}, circuit_breaker: {enabled: false}";

/** A device that is always full. */
const FULL = "/dev/full";
/** More calls than an entry has attempts. */
const MANY = 20;

describe("a disk that cannot be written to", () => {
  it.runIf(existsSync(FULL)).each(["file", "archive"])(
    "makes no dead letter of what waits in the queue, and spends none of its attempts, with the %s exporter",
    async (type) => {
      const archive = defineExporter({
        type: "archive",
        create: () => ({
          async send(batch) {
            await writeFile(FULL, batch.bytes);
            return undefined;
          },
        }),
      });
      const keys = type === "file" ? `path: ${FULL}, fsync: false, ` : "";
      const wrapped = await startWrapped(`  ${type}: {${keys}sending_queue: {enabled: true}, ${QUICK}}`, {
        components: [archive],
      });
      expect(await wrapped.send("a")).toMatchObject({ ok: true });
      const failed = (blame: string) => wrapped.metrics.value("sluice_exporter_failed_calls", { blame });
      await expect.poll(() => failed("backend")).toBeGreaterThan(MANY);
      expect(failed("entry")).toBe(0);
      const [status] = wrapped.agent.admin!.exporters();
      expect(status).toMatchObject({ lastError: { class: "ENOSPC" }, queue: { entries: 1 } });
      expect((await wrapped.agent.admin!.listDeadLetters({})).entries).toEqual([]);
    },
  );

  it("gets everything once it can be written to", async () => {
    const folder = join(temporaryFolder(), "missing");
    const path = join(folder, "telemetry.json");
    const wrapped = await startWrapped(`  file: {path: ${path}, sending_queue: {enabled: true}, ${QUICK}}`);
    for (const body of ["a", "b"]) expect(await wrapped.send(body)).toMatchObject({ ok: true });
    const failed = () => wrapped.metrics.value("sluice_exporter_failed_calls", { blame: "backend" });
    await expect.poll(failed).toBeGreaterThan(MANY);
    mkdirSync(folder);
    await expect.poll(() => wrapped.agent.admin!.exporters()[0]?.queue.entries).toBe(0);
    const lines = readFileSync(path, "utf8").trim().split("\n");
    const taken = lines.map((line) => batchFromJson("logs", line).count).reduce((sum, count) => sum + count, 0);
    expect(taken).toBe(2);
    expect((await wrapped.agent.admin!.listDeadLetters({})).entries).toEqual([]);
  });
});
