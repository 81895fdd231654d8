import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, pagesOfTests } from "./browser.js";
import { CONSOLE_TOKEN, type ConsoleAgent, startConsoleAgent } from "./console-agent.js";

let agent: ConsoleAgent;
const openPage = pagesOfTests();

beforeAll(async () => {
  if (!hasBrowser) return;
  agent = await startConsoleAgent();
});

afterAll(async () => {
  await agent?.stop();
});

async function open(path: string): Promise<Page> {
  return openPage(`${agent.url}/${path}`, CONSOLE_TOKEN);
}

/** Chromium without a window shows every page. This tells the page whether it is shown. */
async function setShown(page: Page, isShown: boolean): Promise<void> {
  const state = isShown ? "visible" : "hidden";
  await page.evaluate(`
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${state}" });
    document.dispatchEvent(new Event("visibilitychange"));
  `);
}

describe.skipIf(!hasBrowser)("a page that nobody can see", () => {
  it("ends its streams and asks for nothing until it is shown again", async () => {
    for (const [place, stream] of [
      ["#/pipelines", "/live"],
      ["#/tail?at=receiver:otlp", "/tap"],
    ] as const) {
      const page = await open(place);
      const asked: string[] = [];
      const ended: string[] = [];
      // A browser fetches the icon when it likes, so only questions to the agent count.
      page.on("request", (request) => request.url().includes("/api/") && asked.push(request.url()));
      page.on("requestfailed", (request) => ended.push(request.url()));
      const isAsked = (urls: readonly string[]) => urls.some((url) => url.includes(`/api/v1${stream}`));
      await page.reload();
      await expect.poll(() => isAsked(asked)).toBe(true);
      await setShown(page, false);
      await expect.poll(() => isAsked(ended)).toBe(true);
      asked.length = 0;
      // Longer than a stream takes to be opened again, and twice as long as the shortest time between two questions.
      await page.waitForTimeout(4_500);
      expect(asked).toEqual([]);
      await setShown(page, true);
      await expect.poll(() => isAsked(asked)).toBe(true);
    }
  });
});

describe.skipIf(!hasBrowser)("the live tail", () => {
  it("shows a record whose text has what some take for the end of a line", async () => {
    const page = await open("#/tail?at=receiver:otlp");
    await page.getByText(/^live/).waitFor();
    const row = page.locator(".tapped details").filter({ hasText: "separated" }).first();
    await expect
      .poll(async () => {
        await agent.sendSpan("one\u2028two\u2029three\u0085 separated");
        return row.count();
      })
      .toBeGreaterThan(0);
    expect(await row.innerText()).toMatch(/one\s*U\+2028\s*two\s*U\+2029\s*three\s*U\+0085/);
  });

  it("calls it a sample when a condition could not be tried on everything", async () => {
    const page = await open(`#/tail?at=receiver:otlp&rate=1&where=${encodeURIComponent('span.name == "x"')}`);
    await page.getByText(/^live/).waitFor();
    await page.getByText("No matching record has passed yet.").waitFor();
    await expect
      .poll(async () => {
        await Promise.all(["x", "x", "x", "y"].map((name) => agent.sendSpan(name)));
        return page.getByText(/a sample: .* more passed and were not checked, or not shown/).count();
      })
      .toBe(1);
  });
});
