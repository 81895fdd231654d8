import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { startApi } from "../harness.js";

const MAX_FIRST_LOAD_BYTES = 150_000;

/** The headers of a browser that follows a link on another site. */
const VISIT = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

async function startConsole() {
  const { url } = await startApi();
  const origin = url.replace("/api/v1", "");
  const ask = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    new Promise<Answer>((resolve, reject) => {
      const asked = request(origin + path, { method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
        );
      });
      asked.on("error", reject).end();
    });
  return { origin, ask };
}

function linksIn(page: Buffer): string[] {
  return [...page.toString("utf8").matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
}

describe("the console", () => {
  it("is a page at / that loads nothing but its own files, and may run nothing else", async () => {
    const { ask } = await startConsole();
    const { status, headers, body } = await ask("/");
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(linksIn(body)).toHaveLength(3);
    expect(linksIn(body).filter((link) => !link.startsWith("/assets/"))).toEqual([]);
    const policy = String(headers["content-security-policy"]);
    expect(policy).toMatch(/default-src 'none'.*script-src 'self';.*frame-ancestors 'none'/);
    expect(policy).not.toContain("unsafe");
    expect(body.toString()).not.toMatch(/<style|style=|<script(?![^>]+src=)|\son\w+=/);
  });

  it("lets a browser cache files with a hash in their name for ever, and the page not at all", async () => {
    const { ask } = await startConsole();
    const page = await ask("/");
    expect(page.headers["cache-control"]).toBe("no-cache");
    for (const link of linksIn(page.body)) {
      expect((await ask(link)).headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    }
  });

  it("is sent compressed to clients that accept it, with the same content", async () => {
    const { ask } = await startConsole();
    for (const path of ["/", ...linksIn((await ask("/")).body)]) {
      const packed = await ask(path, { "accept-encoding": "gzip, br" });
      expect(packed.headers["content-encoding"]).toBe("gzip");
      expect(gunzipSync(packed.body)).toEqual((await ask(path)).body);
    }
  });

  it(`is loaded with at most ${MAX_FIRST_LOAD_BYTES} bytes`, async () => {
    const { ask } = await startConsole();
    const paths = ["/", ...linksIn((await ask("/")).body)];
    const packed = await Promise.all(paths.map((path) => ask(path, { "accept-encoding": "gzip" })));
    const bytes = packed.reduce((sum, { body }) => sum + body.length, 0);
    console.log(`the console is ${bytes} bytes on the wire`);
    expect(bytes).toBeLessThan(MAX_FIRST_LOAD_BYTES);
  });

  it.each([
    ["a foreign host name", "/", { host: "sluice.example" }],
    ["the page of another site that loads it", "/", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }],
    [
      "a frame of another site",
      "/",
      { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    ],
    ["another origin", "/", { origin: "http://evil.example" }],
    ["a visit of the API from another site", "/api/v1/", VISIT],
  ])("refuses %s", async (_, path, headers) => {
    const { ask } = await startConsole();
    expect((await ask(path, headers)).status).toBe(403);
  });

  it("can be visited by a link on another site", async () => {
    const { ask } = await startConsole();
    expect((await ask("/", VISIT)).status).toBe(200);
    expect((await ask("/", { ...VISIT, host: "sluice.example" })).status).toBe(403);
  });

  it("serves the runbook that alerts link to, which loads nothing from other hosts", async () => {
    const { ask } = await startConsole();
    const { status, headers, body } = await ask("/docs/runbook.md", VISIT);
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(body.toString()).toContain('<h2 id="sluicebreakeropen">SluiceBreakerOpen</h2>');
    const links = linksIn(body);
    expect(links).toContain("/#/exporters");
    expect(links.filter((link) => !/^(\/assets\/|\/#\/|\/$|#)/.test(link))).toEqual([]);
    const sections = new Set([...body.toString().matchAll(/ id="([^"]+)"/g)].map((match) => `#${match[1]}`));
    expect(links.filter((link) => link.startsWith("#") && !sections.has(link))).toEqual([]);
    expect(body.toString()).not.toMatch(/<style|style=|<script|\son\w+=/);
    expect((await ask("/docs/runbook.md", { ...VISIT, "sec-fetch-dest": "iframe" })).status).toBe(403);
  });

  it("serves nothing else, and accepts no uploads", async () => {
    const { ask } = await startConsole();
    const status = async (path: string, method?: string) => (await ask(path, {}, method)).status;
    expect(
      await Promise.all(["/index.html", "/files.json", "/assets/", "/../package.json"].map((p) => status(p))),
    ).toEqual([404, 404, 404, 404]);
    expect(await status("/", "POST")).toBe(405);
    const head = await ask("/", {}, "HEAD");
    expect([head.status, head.body.length]).toEqual([200, 0]);
  });
});
