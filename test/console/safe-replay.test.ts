import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, sidewaysScroll, takePicture } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, HOSTILE, HUGE, startConsoleAgent } from "./console-agent.js";

let agent: ConsoleAgent;
const openPage = pagesOfTests();

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent();
  await agent.sendLog(HOSTILE, { "user.mail": "alice@example.com", dump: HUGE });
  for (let n = 0; n < 4; n++) await agent.sendLog(`order ${n} of bob@example.com`);
  await until(async () => expect(await deadLetters()).toHaveLength(5));
});

afterAll(async () => {
  await agent?.stop();
});

interface ListedEntry {
  readonly id: string;
  readonly edits?: readonly object[];
}

async function deadLetters() {
  return (await agent.api<{ entries: readonly ListedEntry[] }>("/dead-letters?order=oldest")).entries;
}

async function open(path: string, options?: Parameters<typeof openPage>[2], token = CONSOLE_TOKEN): Promise<Page> {
  return openPage(`${agent.url}/${path}`, token || undefined, options);
}

/** The page at both widths, light and dark, and never wider than the window. */
async function takePictures(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await sidewaysScroll(page)).toBe(0);
      await takePicture(page, `${name}-${width}-${colorScheme}`);
    }
  }
}

describe.skipIf(!hasBrowser)("a dry run in the console", () => {
  it("shows masked samples of what would be sent, however hostile they are", async () => {
    const page = await open("#/failures");
    await page.getByRole("link", { name: "Replay…" }).first().click();
    await page.getByLabel(/Change with OTTL/).fill('set(log.attributes["mended"], "by <b>ann</b> \u202e")');
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText('"key": "mended"').first().waitFor();
    const text = await page.locator("main").innerText();
    expect(text).not.toMatch(/alice@example|bob@example/);
    expect(text.length).toBeLessThan(50_000);
    await takePictures(page, "dry-run");
  });

  it("says which statement is wrong, and on which entries one fails", async () => {
    const page = await open("#/replay/new?exporter=otlp_http/bad");
    const dryRun = page.getByRole("button", { name: "Dry run" });
    await page.getByLabel(/Change with OTTL/).fill("sett(log.body, 1)");
    await dryRun.click();
    await page.getByRole("alert").getByText("sett").first().waitFor();
    await page.getByLabel(/Change with OTTL/).fill('set(log.attributes["n"], Int(log.body) + 1)');
    await dryRun.click();
    await page.getByText("a statement fails on it").waitFor();
    expect(await page.getByRole("button", { name: /Start replay/ }).isDisabled()).toBe(true);
  });
});

describe.skipIf(!hasBrowser)("an edit in the console", () => {
  it("shows the change, refuses a text that is not OTLP, and keeps the original", async () => {
    const [, { id }] = (await deadLetters()) as [ListedEntry, ListedEntry];
    const page = await open(`#/failures/${id}`);
    await page.getByRole("link", { name: "Edit…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("wrong order");
    await dialog.getByRole("button", { name: "Reveal" }).click();
    const editor = page.getByLabel(/Payload, as OTLP/);
    const text = await editor.inputValue();
    const save = async () => {
      await page.getByRole("button", { name: "Save and continue" }).click();
      await dialog.getByLabel("Reason").fill("wrong order");
      await dialog.getByRole("button", { name: "Save" }).click();
    };
    await editor.fill(text.replace('"logRecords"', '"logs"'));
    await save();
    await dialog.getByText("no member resourceLogs[0].scopeLogs[0].logs").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await editor.fill(text.replace("order 0", "order 1000"));
    await page.locator(".diff .new").getByText("order 1000").waitFor();
    await takePictures(page, "edit");
    await save();
    await page.getByRole("heading", { name: "New replay" }).waitFor();
    await page.goto(`${agent.url}/#/failures/${id}`);
    await page.getByText(/edited by .* \(revision 1\)/).waitFor();
    await page.locator(".payload").getByText("order 1000").waitFor();
    await page.getByLabel("Revision").selectOption("as it came");
    await page.locator(".payload").getByText("order 0").waitFor();
    expect(await page.locator(".payload").innerText()).not.toContain("bob@example.com");
    await takePictures(page, "edited-entry");
  });

  it("is not saved over that of somebody else", async () => {
    const [, , { id }] = (await deadLetters()) as [ListedEntry, ListedEntry, ListedEntry];
    const pages = [await open(`#/replay/edit/${id}`), await open(`#/replay/edit/${id}`)];
    for (const page of pages) {
      await page.getByRole("dialog").getByLabel("Reason").fill("two at once");
      await page.getByRole("dialog").getByRole("button", { name: "Reveal" }).click();
      const editor = page.getByLabel(/Payload, as OTLP/);
      await editor.fill((await editor.inputValue()).replace("order", "ORDER"));
    }
    for (const page of pages) {
      await page.getByRole("button", { name: "Save and continue" }).click();
      await page.getByRole("dialog").getByLabel("Reason").fill("two at once");
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      if (page === pages[0]) await page.getByRole("heading", { name: "New replay" }).waitFor();
    }
    await pages[1]!.getByRole("dialog").getByText("look at it again").waitFor();
  });
});

describe.skipIf(!hasBrowser)("a replay in the console", () => {
  it("is paused, resumed and cancelled, and the page shows it", async () => {
    const page = await open("#/replay/new?exporter=otlp_http/bad");
    await page.getByLabel("Entries per second").fill("0.5");
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Start replay of 5" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("cancelled", { exact: true }).waitFor();
    await page.getByText("failed again").first().waitFor();
  });

  it("goes to another exporter, changed on the way", async () => {
    await until(async () => expect(await deadLetters()).toHaveLength(5));
    const before = agent.sinks.good.count;
    const page = await open("#/replay/new?exporter=otlp_http/bad");
    await page.getByRole("combobox").selectOption("otlp_http/good");
    await page.getByLabel(/Change with OTTL/).fill('set(log.attributes["mended"], true)');
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Start replay of 5" }).click();
    await page.getByText("all delivered").waitFor();
    await takePictures(page, "replayed-elsewhere");
    await until(() => expect(agent.sinks.good.count).toBe(before + 5));
    expect(await deadLetters()).toEqual([]);
    await page.getByRole("link", { name: "Replays" }).click();
    await page.getByRole("row").nth(1).waitFor();
    await takePictures(page, "replays");
  });
});

describe.skipIf(!hasBrowser)("the console", () => {
  it("lets what waits for its retry be sent now", async () => {
    await agent.sendSpan("GET /retry");
    const queued = async () =>
      (await agent.api<{ queue: { entries: number } }>("/exporters/otlp_http%2Fdown")).queue.entries;
    await until(async () => expect(await queued()).toBeGreaterThan(0));
    agent.sinks.down.decide(() => 200);
    const page = await open("#/exporters");
    const card = page.getByRole("article", { name: "otlp_http/down" });
    await card.getByRole("button", { name: "Retry now" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("it is well again");
    await page.getByRole("dialog").getByRole("button", { name: "Retry now" }).click();
    await until(async () => expect(await queued()).toBe(0));
  });

  it("signs in by a link, and leaves the token in no address", async () => {
    const page = await open(`#token=${CONSOLE_TOKEN}`, undefined, "");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(page.url()).not.toContain(CONSOLE_TOKEN);
    const wrong = await open("#token=wrong-token-of-somebody", undefined, "");
    await wrong.getByText("the token is not valid").waitFor();
  });
});
