import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, it } from "vitest";
import { agents, kills, patience, seed } from "../long-form.js";
import { runMixed } from "./run-mixed.js";
import { expectExact } from "./verdict.js";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("loses nothing, counts nothing twice and gives up only bad records, whenever it is killed", {
  timeout: patience(900_000),
}, async () => {
  const times = Math.ceil(kills(6) / agents);
  const homes = Array.from({ length: agents }, () => mkdtempSync(join(directory, "agent-")));
  const run = (home: string, i: number) => runMixed({ home, seed: seed + 1000 * i, kills: times });
  expectExact("everything at once", await Promise.all(homes.map(run)));
});
