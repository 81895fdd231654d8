import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "vitest";
import { fileLogReceiver } from "../../../src/receivers/file-log/component.js";
import { receiverConformance } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";

describe("the file_log receiver", () => {
  /** Each receiver has a file of its own, which is there when it starts. */
  const config = () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
    writeFileSync(join(folder, "a.log"), "one\ntwo\n");
    const offsets_directory = join(folder, "offsets");
    return { include: [join(folder, "*.log")], start_at: "beginning", poll_interval: "5ms", offsets_directory };
  };
  for (const { name, run } of receiverConformance(fileLogReceiver, { config, patienceMs })) it(name, run);
});
