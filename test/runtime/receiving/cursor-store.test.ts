import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import type { ReceiverContext } from "../../../src/runtime/contract/component.js";
import { noMetrics } from "../../../src/runtime/contract/observability.js";
import { CursorStore } from "../../../src/runtime/receiving/cursor-store.js";
import { listeningLogger, temporaryDirectory } from "../../exporters/support.js";

function contextOf(id: string) {
  const logger = listeningLogger();
  const base = { kind: "receiver", metrics: noMetrics, clock: systemClock, random: Math.random, intakes: {} } as const;
  return { logger, context: { id, logger, ...base } satisfies ReceiverContext };
}

async function open(directory: string, id = "journald/a") {
  const { context, logger } = contextOf(id);
  const store = new CursorStore(directory, context);
  await store.load("offsets_directory");
  return { store, logger };
}

it("keeps the last cursors over a restart, for each receiver in its own file", async () => {
  const directory = await temporaryDirectory();
  const { store } = await open(directory);
  for (let i = 0; i < 100; i++) store.set("journal", `s=${i}`);
  store.set("other", "x");
  store.set("other", undefined);
  await store.close();
  const again = (await open(directory)).store;
  expect([again.get("journal"), again.get("other")]).toEqual(["s=99", undefined]);
  expect((await open(directory, "journald/b")).store.get("journal")).toBeUndefined();
});

it("begins anew with a line in the log if the file is damaged", async () => {
  const directory = await temporaryDirectory();
  const { store } = await open(directory);
  store.set("journal", "s=1");
  await store.close();
  const file = join(directory, "journald%2fa.cursors");
  for (const text of [readFileSync(file, "utf8").replace("s=1", "s=2"), "", "{}"]) {
    writeFileSync(file, text);
    const damaged = await open(directory);
    expect(damaged.store.get("journal")).toBeUndefined();
    expect(damaged.logger.lines[0]!.message).toMatch(/damaged/);
  }
});

it("says where the position cannot be kept", async () => {
  const directory = await temporaryDirectory();
  const file = join(directory, "file");
  writeFileSync(file, "");
  chmodSync(file, 0o600);
  await expect(open(join(file, "below"))).rejects.toThrow("the position cannot be kept");
});
