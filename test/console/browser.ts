import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

const PROGRAM = process.env["SLUICE_CHROMIUM"] ?? "/usr/bin/chromium";

/** Whether there is a browser to try the console with; without one its tests say that they are skipped. */
export const hasBrowser = existsSync(PROGRAM);
if (!hasBrowser) console.log(`skipped: the console is tried with a browser, and there is none at ${PROGRAM}`);

function launchBrowser(): Promise<Browser> {
  // Chromium's sandbox does not work for root, as in a container.
  return chromium.launch({ executablePath: PROGRAM, chromiumSandbox: process.getuid?.() !== 0 });
}

/** A page and its faults: violations of the policy, uncaught errors, requests to other hosts. */
interface WatchedPage {
  readonly page: Page;
  readonly problems: string[];
}

/** Opens a page; with a token it is signed in. */
type OpenPage = (url: string, token?: string, options?: BrowserContextOptions) => Promise<Page>;

/**
 * The pages of the tests of a file, or of a `describe`, in one browser. They are closed after the test that opened them, which
 * fails if something went wrong in one of them.
 */
export function pagesOfTests(): OpenPage {
  let browser: Browser | undefined;
  const opened: WatchedPage[] = [];
  beforeAll(async () => {
    if (hasBrowser) browser = await launchBrowser();
  });
  afterEach(async () => {
    const problems = opened.flatMap((each) => each.problems);
    for (const { page } of opened.splice(0)) await page.context().close();
    expect(problems).toEqual([]);
  });
  afterAll(() => browser?.close());
  return async (url, token, options) => {
    const watched = await openPage(browser!, url, token, options);
    opened.push(watched);
    return watched.page;
  };
}

async function openPage(
  browser: Browser,
  url: string,
  token: string | undefined,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  if (token !== undefined) await context.addInitScript(`sessionStorage.setItem("sluice.token", "${token}")`);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`a payload opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted ?Type/i.test(message.text())) problems.push(message.text());
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) problems.push(`asked another host: ${request.url()}`);
  });
  await page.goto(url);
  return { page, problems };
}

/** How far the page can be moved sideways. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Faults that axe finds against WCAG 2.2, levels A and AA, and against its best practices. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate<readonly Violation[]>("axe.run(document).then(({ violations }) => violations)");
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

const folder = process.env["SLUICE_SCREENSHOTS"];
export const takesPictures = folder !== undefined;

/** Keeps a picture when SLUICE_SCREENSHOTS names a folder for them. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
