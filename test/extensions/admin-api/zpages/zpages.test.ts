import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { adminApi } from "../../../../src/extensions/admin-api/component.js";
import { zpages } from "../../../../src/extensions/admin-api/zpages/component.js";
import { claimAddress, sharedPages } from "../../../../src/extensions/admin-api/zpages/shared-address.js";
import type { ExtensionContext, Host, Logger } from "../../../../src/plugin.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import { startFed } from "../../../support/fed-agent.js";
import { logs } from "../../../support/telemetry/batches.js";

const PIPELINES = `
processors: {"batch/<b>": }
exporters: {nop: , "nop/'x'": }
service:
  extensions: [zpages, health_check]
  pipelines:
    logs: {receivers: [hand], processors: ["batch/<b>"], exporters: [nop, "nop/'x'"]}
`;

async function startPages() {
  let endpoint = "";
  const info = (fields: object, message: string) => {
    if (message === "zpages is listening") endpoint = (fields as { endpoint: string }).endpoint;
  };
  const logger: Logger = { ...silentLogger, info, child: () => logger };
  const extensions = (directory: string) =>
    `extensions: {reliability: {directory: ${directory}}, zpages: {endpoint: "127.0.0.1:0"}, health_check: {endpoint: "127.0.0.1:0"}, admin: {endpoint: "127.0.0.1:0", token_file: ${directory}/token}}`;
  const fed = await startFed((directory) => extensions(directory) + PIPELINES, { logger });
  onTestFinished(() => fed.agent.stop(0));
  const page = async (path: string) => {
    const answer = await fetch(`http://${endpoint}${path}`);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return { ...fed, page };
}

const contextOf = (id: string, host: Host, logger: Logger = silentLogger): ExtensionContext => ({
  id,
  kind: "extension",
  logger,
  metrics: noMetrics,
  clock: systemClock,
  random: Math.random,
  host,
});

/** An admin API at a port of its own. */
async function startAdmin() {
  const folder = mkdtempSync(join(tmpdir(), "sluice-zpages-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const host: Host = { state: "ready" };
  const endpoint = `127.0.0.1:${await freePort()}`;
  const config = adminApi.schema.parse({ endpoint, token_file: join(folder, "token") });
  const admin = adminApi.create(config, contextOf("admin", host));
  await admin.start();
  onTestFinished(() => admin.stop());
  return { admin, host, endpoint };
}

/** An extension by itself, and what it logged. */
async function startAlone(config: object, admin?: { host: string; port: number }) {
  const logged: string[] = [];
  const note = (_: object, message: string) => logged.push(message);
  const host: Host = { state: "ready" };
  if (admin !== undefined) claimAddress(host, admin);
  const context = contextOf("zpages", host, { ...silentLogger, info: note, warn: note });
  const extension = zpages.create(zpages.schema.parse(config), context);
  await extension.start();
  onTestFinished(() => extension.stop());
  return { extension, host, logged };
}

describe("zpages", () => {
  it("shows pipelines, extensions and numbers of records, with names that are escaped", async () => {
    const { page, hand } = await startPages();
    await hand(logs("a", "b", "c"));
    const pipelines = await page("/debug/pipelinez");
    expect(pipelines.status).toBe(200);
    expect(pipelines.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(pipelines.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(pipelines.text).toContain(
      "<tr><td>logs</td><td>logs</td><td>hand</td><td>batch/&lt;b&gt;</td><td>nop, nop/&#39;x&#39;</td></tr>",
    );
    expect(pipelines.text).not.toContain("<b>");
    expect((await page("/debug/extensionz")).text).toContain("<th>Extension</th>");
    expect((await page("/debug/servicez")).text).toContain("<td>ready</td>");
    expect((await page("/debug/tracez")).text).toMatch(/<td>exporter\/nop<\/td><td>logs<\/td><td>3<\/td>/);
    expect((await page("/debug/")).text).toContain('href="/debug/pipelinez"');
    expect((await page("/debug/pprof")).status).toBe(404);
  });

  it("leaves its port to the admin API, which serves the pages until it stops", async () => {
    const { extension, host, logged } = await startAlone({}, { host: "127.0.0.1", port: 55679 });
    expect(sharedPages(host)?.("/debug/servicez")?.status).toBe(200);
    expect(sharedPages(host)?.("/api/v1")).toBeUndefined();
    expect(logged).toEqual(["zpages are served by the admin API, at /debug"]);
    await extension.stop();
    expect(sharedPages(host)).toBeUndefined();
  });

  it("is served by a running admin API on its port, without a token and only for reading, until it stops", async () => {
    const { admin, host, endpoint } = await startAdmin();
    const pages = zpages.create(zpages.schema.parse({ endpoint }), contextOf("zpages", host));
    const status = async (path: string, method = "GET") =>
      (await fetch(`http://${endpoint}${path}`, { method })).status;
    expect(await status("/debug/servicez")).toBe(404);
    await pages.start();
    const page = await fetch(`http://${endpoint}/debug/servicez`);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).toContain("<td>ready</td>");
    expect(await status("/debug")).toBe(200);
    expect(await status("/debug/nothing")).toBe(404);
    expect(await status("/debug/servicez", "POST")).not.toBe(200);
    expect(await status("/api/v1/agent")).toBe(401);
    await pages.stop();
    expect(await status("/debug/servicez")).toBe(404);
    await admin.stop();
  });

  it("says that other machines cannot reach pages on the admin API's port, and refuses tls there", async () => {
    const admin = { host: "127.0.0.1", port: 55679 };
    const { logged } = await startAlone({ endpoint: "0.0.0.0:55679" }, admin);
    expect(logged[1]).toContain("only this machine can reach them");
    await expect(startAlone({ tls: { cert_file: "c", key_file: "k" } }, admin)).rejects.toThrow("another one");
  });

  it("has a server of its own on another port, whatever the admin API has", async () => {
    const { host, logged } = await startAlone({ endpoint: "127.0.0.1:0" }, { host: "127.0.0.1", port: 55679 });
    expect(sharedPages(host)).toBeUndefined();
    expect(logged).toEqual(["zpages is listening"]);
  });
});
