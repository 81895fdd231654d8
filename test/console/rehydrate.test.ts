import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { s3Environment } from "../support/servers/s3/s3.js";
import { S3Emulator } from "../support/servers/s3/s3-emulator.js";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture, violationsOf } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent, VIEWER_TOKEN } from "./console-agent.js";

let agent: ConsoleAgent;
const openPage = pagesOfTests();
const archive = mkdtempSync(join(tmpdir(), "sluice-archive-"));
const s3 = new S3Emulator("archive");
const PATH = "year=2026/month=01/day=31/hour=08/minute=05";

beforeAll(async () => {
  if (!hasBrowser) return;
  const folder = join(archive, PATH);
  mkdirSync(folder, { recursive: true });
  const logRecords = ["first", "second"].map((stringValue) => ({ timeUnixNano: "1", body: { stringValue } }));
  const line = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  writeFileSync(join(folder, "logs_1.json"), `${line}\n`);
  await s3.start();
  s3.buckets.get("archive")!.set(`prod/${PATH}/logs_1.json`, { body: Buffer.from(line), headers: {} });
  Object.assign(process.env, s3Environment);
  agent = await startConsoleAgent();
});

afterAll(async () => {
  await agent?.stop();
  if (hasBrowser) await s3.close();
  for (const name of Object.keys(s3Environment)) delete process.env[name];
  rmSync(archive, { recursive: true, force: true });
});

/** Fills in the form for the day of the archive. */
async function askFor(section: Locator, from: string): Promise<void> {
  await section.getByLabel("From").fill(from);
  await section.getByLabel("Since").fill("2026-01-31T00:00:00Z");
  await section.getByLabel("Until").fill("2026-02-01T00:00:00Z");
  await section.getByLabel("To", { exact: false }).last().selectOption("otlp_http/good");
}

describe.skipIf(!hasBrowser)("archived data in the console", () => {
  it("is estimated first, then sent, with its progress", async () => {
    const page = await openPage(`${agent.url}/#/replay`, CONSOLE_TOKEN);
    const section = page.getByRole("region", { name: "Rehydrations" });
    await askFor(section, `file:${archive}`);
    const start = section.getByRole("button", { name: "Start" });
    expect(await start.isDisabled()).toBe(true);
    await section.getByRole("button", { name: "Estimate" }).click();
    await section.getByText(/^1 object, .* 2 records; 2 match/).waitFor();
    expect(agent.sinks.good.count).toBe(0);
    await start.click();
    const job = section.getByRole("article", { name: /^Rehydration/ });
    await job.getByText("done", { exact: true }).waitFor();
    await job.getByText("2 records sent").waitFor();
    await until(() => expect(agent.sinks.good.count).toBe(2));
    await section.getByRole("button", { name: "Estimate" }).click();
    await section.getByText(/^The same request sent 2 records .* They would be sent again/).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await sidewaysScroll(page)).toBe(0);
    await takePicture(page, "rehydrations-390");
    await page.setViewportSize({ width: 1440, height: 900 });
    await takePicture(page, "rehydrations");
  });

  it("comes from a bucket of S3, whose folders may be in another time zone", async () => {
    const before = agent.sinks.good.count;
    const page = await openPage(`${agent.url}/#/replay`, CONSOLE_TOKEN);
    const section = page.getByRole("region", { name: "Rehydrations" });
    await askFor(section, "s3://archive/prod");
    await section.getByLabel("Server").fill(s3.endpoint);
    await section.getByLabel("Name the bucket in the path").check();
    // In this zone, the folder of 08:05 is before the time that is asked for.
    await section.getByLabel("Since").fill("2026-01-31T08:00:00Z");
    await section.getByLabel("Time zone").fill("Asia/Kolkata");
    await section.getByRole("button", { name: "Estimate" }).click();
    const estimate = section.getByRole("article", { name: /^Estimate/ }).first();
    await estimate.getByText(/^0 objects/).waitFor();
    await section.getByLabel("Time zone").fill("UTC");
    await section.getByRole("button", { name: "Estimate" }).click();
    await estimate.getByText(/^1 object, .* 2 records; 2 match/).waitFor();
    await section.getByRole("button", { name: "Start" }).click();
    const job = section.getByRole("article", { name: /^Rehydration/ }).filter({ hasText: "s3://archive/prod" });
    await job.getByText("2 records sent").waitFor();
    await until(() => expect(agent.sinks.good.count).toBe(before + 2));
    expect(await violationsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await sidewaysScroll(page)).toBe(0);
  });

  it("can be cancelled", async () => {
    const page = await openPage(`${agent.url}/#/replay`, CONSOLE_TOKEN);
    const section = page.getByRole("region", { name: "Rehydrations" });
    await askFor(section, "s3://archive/prod");
    await section.getByLabel("Server").fill(s3.endpoint);
    await section.getByLabel("Name the bucket in the path").check();
    await section.getByLabel("Time zone").fill("UTC");
    await section.getByLabel("OTTL condition").fill('body == "first"');
    await section.getByRole("button", { name: "Estimate" }).click();
    const start = section.getByRole("button", { name: "Start" });
    await until(async () => expect(await start.isEnabled()).toBe(true));
    await section.getByText(/2 records; 1 match/).waitFor();
    s3.fault = () => "hang";
    await start.click();
    const job = section.getByRole("article", { name: /^Rehydration/ }).filter({ hasText: 'body == "first"' });
    await job.getByText("running", { exact: true }).waitFor();
    await job.getByRole("button", { name: "Cancel" }).click();
    await job.getByText("cancelled", { exact: true }).waitFor();
    expect(await job.getByRole("button", { name: "Cancel" }).count()).toBe(0);
    s3.fault = () => undefined;
    await section.getByRole("button", { name: "Estimate" }).click();
    await section.getByText(/^The same request was interrupted/).waitFor();
  });

  it("says what is wrong with a request, and who may make one", async () => {
    const page = await openPage(`${agent.url}/#/replay`, CONSOLE_TOKEN);
    const section = page.getByRole("region", { name: "Rehydrations" });
    await section.getByLabel("From").fill("ftp://somewhere");
    await section.getByRole("button", { name: "Estimate" }).click();
    await section.getByRole("alert").waitFor();
    const other = await openPage(`${agent.url}/#/replay`, VIEWER_TOKEN);
    await other.getByText("Bringing archived data back needs the role").waitFor();
  });
});
