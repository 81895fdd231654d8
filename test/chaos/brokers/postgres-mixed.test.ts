import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, onTestFinished } from "vitest";
import { postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { kills, patience, seed } from "../long-form.js";
import { runMixed } from "../mixed/run-mixed.js";
import { expectExact } from "../mixed/verdict.js";
import { killPostgres } from "./kill-postgres.js";

describe.skipIf(postgresProgram === undefined)("connectors of an agent without a disk", () => {
  it("count nothing twice and lose nothing, whenever it or the server is killed", {
    timeout: patience(900_000),
  }, async () => {
    const home = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
    const postgres = await startPostgres();
    onTestFinished(async () => {
      await postgres.close();
      rmSync(home, { recursive: true, force: true });
    });
    const serverKills = kills(1, 0.01);
    const killing = killPostgres(postgres, serverKills);
    const store = { postgres: { ...postgres.keys, agent: "one", timeout: "1s" } };
    const found = await runMixed({ home, seed, kills: kills(4, 0.04), store: { store }, stretch: 3 });
    await killing;
    expectExact("everything at once, queues in postgres", [found], { serverKills });
  });
});
