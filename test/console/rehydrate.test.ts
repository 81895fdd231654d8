import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture, violationsOf } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent, VIEWER_TOKEN } from "./console-agent.js";

let agent: ConsoleAgent;
const openPage = pagesOfTests();
const archive = mkdtempSync(join(tmpdir(), "sluice-archive-"));

beforeAll(async () => {
  if (!hasBrowser) return;
  const folder = join(archive, "year=2026/month=01/day=31/hour=08/minute=05");
  mkdirSync(folder, { recursive: true });
  const logRecords = ["first", "second"].map((stringValue) => ({ timeUnixNano: "1", body: { stringValue } }));
  const line = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  writeFileSync(join(folder, "logs_1.json"), `${line}\n`);
  agent = await startConsoleAgent();
});

afterAll(async () => {
  await agent?.stop();
  rmSync(archive, { recursive: true, force: true });
});

describe.skipIf(!hasBrowser)("archived data in the console", () => {
  it("is estimated first, then sent, with its progress", async () => {
    const page = await openPage(`${agent.url}/#/replay`, CONSOLE_TOKEN);
    const section = page.getByRole("region", { name: "Rehydrations" });
    await section.getByLabel("From").fill(`file:${archive}`);
    await section.getByLabel("Since").fill("2026-01-31T00:00:00Z");
    await section.getByLabel("Until").fill("2026-02-01T00:00:00Z");
    await section.getByLabel("To", { exact: false }).last().selectOption("otlp_http/good");
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
