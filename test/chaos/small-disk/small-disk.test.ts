import { describe, expect, it } from "vitest";
import { canMount } from "../../support/servers/can-mount.js";
import { Dice } from "../../support/telemetry/wire-forms.js";
import { isLongForm, patience, seed, summary } from "../long-form.js";
import { runOnSmallDisk, type SmallDiskReport } from "./small-disk.js";
import { randomShape, shapeOf } from "./small-disk-config.js";

const RUNS = Number(process.env["CHAOS_DISKS"] ?? (isLongForm ? 50 : 2));

describe.skipIf(!canMount())("several queues and journals on a small disk (needs root and mount)", () => {
  it.each([
    { mebibytes: 100, exporters: 3, journals: 6 },
    { mebibytes: 40, exporters: 1, journals: 2 },
  ])(
    "fill it, drain and take data again: $exporters exporters, $journals journals, $mebibytes MiB",
    { timeout: patience(600_000) },
    async ({ mebibytes, exporters, journals }) => {
      expectRecovered(await runOnSmallDisk(seed, shapeOf(mebibytes, exporters, journals, new Dice(seed))));
    },
  );

  it.each(Array.from({ length: RUNS }, (_, i) => seed + i))(
    "recover by themselves when their backends are back, whatever the size and the number (seed %i)",
    { timeout: patience(600_000) },
    async (own) => {
      expectRecovered(await runOnSmallDisk(own, randomShape(new Dice(own)), own % 5 === 0));
    },
  );
});

function expectRecovered({ log, ...report }: SmallDiskReport): void {
  const text = `${summary("a small disk", report)}\n${log.join("\n")}`;
  expect(report, text).toMatchObject({ missing: 0, rejected: 0, refused: [] });
  expect(report.filledPercent, text).toBeGreaterThanOrEqual(20);
}
