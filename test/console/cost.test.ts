import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONDITION_LIMIT_MS } from "../support/limits.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture, violationsOf } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, HOSTILE, startConsoleAgent, VIEWER_TOKEN } from "./console-agent.js";

let agent: ConsoleAgent;
const openPage = pagesOfTests();
const KEY = 'z<img src=x onerror="alert(1)">';

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent({
    insight: `insight: {places: [receivers, exporters], sampling_ratio: 1, price: {otlp_http/good: {per_gb: 500000, per_million_records: 90}}}`,
    processors: `filter/noise: {error_mode: ignore, logs: {log_record: ['IsMatch(body, "^noise")']}}`,
    pipelines: "logs/noise: {receivers: [otlp], processors: [filter/noise], exporters: [otlp_http/good]}",
  });
  for (const address of ["10.0.0.1", "10.0.0.2", "10.0.0.3"])
    await agent.sendLog(`user 17 logged in from ${address}`, { [KEY]: "a".repeat(500), "user.agent": "curl" });
  await agent.sendLog(`noise ${HOSTILE}`);
  await agent.sendSpan("GET /cart");
});

afterAll(async () => {
  await agent?.stop();
});

async function open(path: string, options?: Parameters<typeof openPage>[2]): Promise<Page> {
  return openPage(`${agent.url}/${path}`, CONSOLE_TOKEN, options);
}

const names = (page: Page) => page.locator("tbody tr summary").allInnerTexts();

describe.skipIf(!hasBrowser)("the cost page", () => {
  it("shows what there is, sorted as asked, with bytes, money and a chart per row", async () => {
    const page = await open("#/cost");
    await page.getByRole("link", { name: "Attributes" }).click();
    await page.locator("tbody tr").first().waitFor();
    await expect.poll(async () => (await names(page))[0]).toContain(KEY);
    const first = page.locator("tbody tr").first();
    expect(await first.locator('td[data-label="Per day"]').innerText()).toMatch(/^[\d,.<]+$/);
    expect(await first.getByRole("img").getAttribute("aria-label")).toMatch(/last 60 minutes, at most [\d.]+ KiB/);
    await page.getByRole("columnheader", { name: "Name" }).getByRole("link").click();
    await expect.poll(async () => (await names(page))[0]).not.toContain(KEY);
    const sorted = await names(page);
    expect(sorted).toEqual([...sorted].sort());
    expect(await page.locator('th[aria-sort="ascending"]').innerText()).toContain("Name");
    expect(page.url()).toContain("sort=name");
    expect(await page.locator("main img, main script").count()).toBe(0);
  });

  it("shows what the config keeps and drops, and leads from an exporter to what it gets", async () => {
    const page = await open("#/cost?by=pattern&place=receivers");
    const row = page.locator("tbody tr").filter({ hasText: "user <*> logged in from <*>" });
    await row.getByText("kept").waitFor();
    await row.locator("summary").click();
    await row.getByText("logged in from").nth(1).waitFor();
    await page.getByRole("link", { name: "Exporters", exact: true }).last().click();
    await page.locator("tbody tr").filter({ hasText: "otlp_http/good" }).locator("summary").click();
    await page.getByRole("link", { name: "Log patterns that it gets" }).click();
    await page.getByText("at otlp_http/good").waitFor();
    await expect.poll(() => page.getByLabel("Read at").inputValue()).toBe("otlp_http/good");
  });

  it("leads from a service to its log patterns, and back to those of all", async () => {
    const page = await open("#/cost?by=service&signal=logs");
    const row = page.locator("tbody tr").first();
    await row.locator("summary").click();
    const service = (await row.locator("summary").innerText()).trim();
    await row.getByRole("link", { name: "Its log patterns" }).click();
    const chip = page.getByRole("list", { name: "Filters in effect" });
    await chip.getByText(service).waitFor();
    const pattern = page.locator("tbody tr").filter({ hasText: "user <*> logged in from <*>" });
    await pattern.locator("summary").click();
    await pattern.getByText(service, { exact: true }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await chip.getByRole("link").click();
    await expect.poll(() => chip.count()).toBe(0);
    expect(page.url()).toContain("by=pattern");
  });

  it("shows a config that cuts a row, its diff and what it saves, and applies nothing", async () => {
    const page = await open("#/cost?by=pattern&place=otlp_http/good");
    const before = await agent.api<{ generation: { number: number } }>("/config");
    await page
      .locator("tbody tr")
      .filter({ hasText: "user <*> logged in" })
      .getByRole("button", { name: "Cut…" })
      .press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.locator(".diff .new").getByText("filter/cut_user").first().waitFor();
    await dialog.getByText(/this saves [\d.]+ [KMG]?i?B per day .* costs of/).waitFor();
    await dialog.getByLabel("How").selectOption("sample");
    await dialog.getByLabel("N", { exact: true }).fill("4");
    await dialog.locator(".diff .new").getByText("sampling_percentage: 25").waitFor();
    await dialog.getByText("Nothing is applied").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await takePicture(page, "cost-cut");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await agent.api("/config")).toEqual(before);
  });

  it("rehearses a cut on live traffic, shows progress and the measured saving, and can cancel", async () => {
    const page = await open("#/cost?by=pattern&place=otlp_http/good");
    let isOver = false;
    const sending = (async () => {
      while (!isOver) {
        await agent.sendLog("user 18 logged in from 10.0.0.4");
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    try {
      const row = page.locator("tbody tr").filter({ hasText: "user <*> logged in" });
      await row.getByRole("button", { name: "Cut…" }).click();
      const part = page.getByRole("dialog").getByRole("region", { name: "Rehearsal" });
      await part.getByLabel("Take a sample for").selectOption("120");
      await part.getByRole("button", { name: "Rehearse" }).click();
      await part.getByText(/records?, .* left to take the sample/).waitFor();
      expect(await violationsOf(page)).toEqual([]);
      await part.getByRole("button", { name: "Cancel" }).click();
      await part.getByText("The rehearsal was cancelled.").waitFor();
      await part.getByLabel("Take a sample for").selectOption("10");
      await part.getByLabel("Share of the batches").selectOption("1");
      await part.getByRole("button", { name: "Rehearse" }).click();
      const bytes = part.getByRole("row").filter({ hasText: "Bytes" });
      // The rehearsal has a low priority, so it takes long on a busy machine.
      await bytes.waitFor({ timeout: CONDITION_LIMIT_MS });
      expect(await bytes.innerText()).toMatch(/Bytes\s+[\d.]+ \w+\s+[\d.]+ \w+/);
      expect(await part.getByRole("row").filter({ hasText: "Cost" }).innerText()).toMatch(/[\d.,]+\s+[\d.,]+/);
      await part.getByText(/^Of a sample of .* exporters get .* → 0 records/).waitFor();
      expect(await violationsOf(page)).toEqual([]);
      await takePicture(page, "cost-rehearsed");
    } finally {
      isOver = true;
      await sending;
    }
  });

  it("tells a viewer why a cut cannot be rehearsed", async () => {
    const page = await openPage(`${agent.url}/#/cost?by=pattern&place=otlp_http/good`, VIEWER_TOKEN);
    await page.locator("tbody tr").first().getByRole("button", { name: "Cut…" }).click();
    const part = page.getByRole("dialog").getByRole("region", { name: "Rehearsal" });
    await part.getByText("A rehearsal needs the role configure").waitFor();
    expect(await part.getByRole("button", { name: "Rehearse" }).count()).toBe(0);
  });

  it("removes an attribute with a hostile name, shown as text", async () => {
    const page = await open("#/cost?by=attribute");
    await page.locator("tbody tr").filter({ hasText: "onerror" }).first().getByRole("button", { name: "Cut…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.locator("pre").getByText("delete_key").first().waitFor();
    await dialog.getByText('<img src=x onerror="alert(1)">').first().waitFor();
    expect(await page.locator("main img, main script, dialog img").count()).toBe(0);
  });

  it.each([
    [390, "light"],
    [390, "dark"],
    [1440, "light"],
    [1440, "dark"],
  ] as const)("has no fault of accessibility and fits at %i pixels, %s", async (width, colorScheme) => {
    const page = await open("#/cost?by=pattern&place=receivers", { viewport: { width, height: 900 }, colorScheme });
    await page.locator("tbody tr").first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await sidewaysScroll(page)).toBe(0);
    await takePicture(page, `cost-${width}-${colorScheme}`);
  });
});
