import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/until.js";
import { hasBrowser, pagesOfTests, takePicture } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent } from "./console-agent.js";

/** Two causes at one exporter, whose deleted dead letters can be restored. */
let agent: ConsoleAgent;
const openPage = pagesOfTests();
const EXPORTER = "otlp_http/kept";

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent({
    exporters: `${EXPORTER}: {endpoint: "http://127.0.0.1:9/", dead_letter: {keep_deleted: 1h}, retry_on_failure: {permanent_on: [ECONNREFUSED]}}`,
    pipelines: `logs/kept: {receivers: [otlp], exporters: [${EXPORTER}]}`,
  });
  for (let n = 0; n < 4; n++) await agent.sendLog(`order ${n} of bob@example.com`);
  await until(async () => expect(await deadLetters()).toBe(4));
});

afterAll(async () => {
  await agent?.stop();
});

async function deadLetters(): Promise<number> {
  const { entries } = await agent.api<{ entries: readonly object[] }>(`/dead-letters?exporter=${EXPORTER}`);
  return entries.length;
}

const open = (path: string): Promise<Page> => openPage(`${agent.url}/${path}`, CONSOLE_TOKEN);
const rowsOf = (page: Page) => page.locator("tbody tr");

describe.skipIf(!hasBrowser)("the failures page", () => {
  it("shows the cause as a filter that can be removed, and keeps it over a reload", async () => {
    const page = await open("#/failures");
    await page.getByRole("link", { name: "HTTP 400" }).click();
    const chips = page.getByRole("list", { name: "Filters in effect" });
    await chips.getByText("Cause:").waitFor();
    await chips.getByText(/HTTP 400|onerror/).waitFor();
    await expect.poll(() => rowsOf(page).count()).toBe(4);
    await page.reload();
    await chips.getByText("Cause:").waitFor();
    await expect.poll(() => rowsOf(page).count()).toBe(4);
    for (const name of ["Cause", "Exporter", "Reason"])
      await chips.getByRole("link", { name: `Remove the filter ${name}` }).click();
    await expect.poll(() => rowsOf(page).count()).toBe(8);
    expect(await chips.count()).toBe(0);
  });

  it("tells how many there are, in both views", async () => {
    const page = await open(`#/failures?exporter=${EXPORTER}`);
    const totals = page.getByRole("list", { name: "Totals" });
    for (const view of ["By cause", "Entries"]) {
      await page.getByRole("link", { name: view }).click();
      await expect.poll(() => totals.innerText()).toMatch(/4\s*dead letters\s*4\s*records\s*1\s*cause/);
    }
  });

  it("previews the record and the error of each entry, masked", async () => {
    const page = await open("#/failures?view=entries&exporter=otlp_http/bad");
    await rowsOf(page).getByText("order 0 of ****").waitFor();
    await rowsOf(page).getByText("onerror").first().waitFor();
    expect(await page.locator("main").innerText()).not.toContain("bob@");
    await takePicture(page, "failures-entries");
  });

  it("explains calls and attempts of an entry", async () => {
    const page = await open(`#/failures?view=entries&exporter=${EXPORTER}`);
    await rowsOf(page).first().getByRole("link").click();
    await page.getByText(/^\d+ calls?$/).waitFor();
    await page.getByText("What is the difference?").click();
    await page.getByText(/A call that fails because the backend is down/).waitFor();
  });

  it("replays only what matches the filters, and everything without filters", async () => {
    const page = await open(`#/failures?exporter=${EXPORTER}&text=order 2`);
    await page.locator("tbody tr").getByText("1", { exact: true }).first().waitFor();
    await page.getByRole("link", { name: "Replay…" }).click();
    await page.getByRole("button", { name: "Dry run" }).click();
    const dryRun = page.getByRole("region", { name: "Dry run" });
    await dryRun.getByText("would be replayed").waitFor();
    expect(await dryRun.innerText()).toMatch(/^Dry run\s+1\s*chosen\s+1\s*would be replayed/);
    await page.goto(`${agent.url}/#/failures?view=entries`);
    await page.getByRole("link", { name: "Replay all that match…" }).click();
    await page.getByText("All dead letters", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Dry run" }).click();
    await dryRun.getByText("would be replayed").waitFor();
    expect(await dryRun.innerText()).toMatch(/^Dry run\s+8\s*chosen/);
    await dryRun.getByText("Their records would be sent as they are stored.").waitFor();
  });

  it("deletes chosen ones after telling how many and whether that is final, and undoes it", async () => {
    const page = await open(`#/failures?view=entries&exporter=${EXPORTER}`);
    for (const n of [0, 1]) await rowsOf(page).nth(n).getByRole("checkbox").check();
    await page.getByRole("button", { name: "Delete 2 chosen…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("2 dead letters").waitFor();
    await dialog.getByText("You can undo this only if").waitFor();
    await takePicture(page, "delete-dialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByText("Deleted 2 dead letters.").waitFor();
    expect(await deadLetters()).toBe(2);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("Restored 2 dead letters.").waitFor();
    expect(await deadLetters()).toBe(4);
    await expect.poll(() => rowsOf(page).count()).toBe(4);
  });

  it("lists deleted ones, from which they are restored", async () => {
    const page = await open(`#/failures?exporter=${EXPORTER}`);
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByText("4 dead letters").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("link", { name: "Show deleted ones" }).click();
    await expect.poll(() => rowsOf(page).count()).toBe(4);
    await page.getByRole("button", { name: "Restore all that match" }).click();
    await until(async () => expect(await deadLetters()).toBe(4));
  });

  it("offers no undo where nothing is kept", async () => {
    const page = await open("#/failures?exporter=otlp_http/bad");
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByText("4 dead letters").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Deleted 4 dead letters.").waitFor();
    expect(await page.getByRole("button", { name: "Undo" }).count()).toBe(0);
  });
});

describe.skipIf(!hasBrowser)("the live tail", () => {
  it("says what to do first, and sends a record to the playground", async () => {
    const page = await open("#/tail");
    await page.getByText("Choose a place and click Tap.").waitFor();
    await page.goto(`${agent.url}/#/tail?at=receiver:otlp`);
    const row = page.locator(".tapped details").filter({ hasText: "a record to try" }).first();
    await expect
      .poll(async () => {
        await agent.sendSpan("a record to try");
        return row.count();
      })
      .toBeGreaterThan(0);
    await page.getByRole("button", { name: "Pause" }).click();
    await row.locator("summary").click();
    await row.getByRole("button", { name: "Try in OTTL" }).click();
    await expect.poll(() => page.getByLabel("Record").inputValue()).toContain("a record to try");
    expect(await page.getByLabel("Signal").inputValue()).toBe("traces");
    await page.reload();
    expect(await page.getByLabel("Record").inputValue()).toContain("a record to try");
    // The header grows while the page loads, so a click may miss a button that moves.
    await page.getByText("all roles").waitFor();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("region", { name: "Result 1" }).getByText('"key": "stage"').waitFor();
  });
});
