import { existsSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BuiltInHost } from "#contract/built-in";
import { TokenFile, tokenFileOf } from "../../../src/extensions/admin-api/token-file.js";
import { createAdminToken } from "../../../src/runtime/net/auth/admin-token.js";
import { runs } from "../../support/runs.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

const textOf = (path: string | undefined) => readFileSync(path!, "utf8").trim();

describe("a token file", () => {
  it("replaces a file that nobody uses, and is not written through a link", async () => {
    const folder = temporaryFolder();
    const [path, victim] = [join(folder, "admin-token"), join(folder, "victim")];
    writeFileSync(victim, "precious");
    symlinkSync(victim, path);
    const file = new TokenFile(path);
    await file.write();
    expect([readFileSync(victim, "utf8"), lstatSync(path).isSymbolicLink()]).toEqual(["precious", false]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await file.remove();
    expect(existsSync(path)).toBe(false);
  });

  it("stays if another program has replaced it", async () => {
    const file = new TokenFile(join(temporaryFolder(), "admin-token"));
    await file.write();
    writeFileSync(file.path!, "of another agent");
    const { path } = file;
    await file.remove();
    expect(textOf(path)).toBe("of another agent");
  });

  it("replaces and removes nothing but tokens under names that the config does not have", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "token");
    for (const number of [2, 2025]) writeFileSync(`${path}-${number}`, "precious");
    writeFileSync(`${path}-7`, `${createAdminToken()}\n`);
    const [first, second] = [new TokenFile(path), new TokenFile(path)];
    for (const file of [first, second]) await file.write();
    expect(second.path).toBe(`${path}-3`);
    for (const file of [second, first]) await file.remove();
    expect(readdirSync(folder).sort()).toEqual(["token-2", "token-2025"]);
    expect(textOf(`${path}-2`)).toBe("precious");
  });

  it("belongs to one agent at a time, in whatever order agents start and stop", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3), { maxLength: 16 }), async (steps) => {
        const path = join(temporaryFolder(), "data", "admin-token");
        const running = new Map<number, TokenFile>();
        for (const step of steps) {
          const agent = running.get(step);
          if (agent === undefined) {
            const started = new TokenFile(path);
            await started.write();
            running.set(step, started);
          } else {
            await agent.remove();
            running.delete(step);
          }
          for (const file of running.values()) expect(textOf(file.path)).toBe(file.token);
          expect(readdirSync(join(path, "..")).length).toBe(running.size);
        }
        for (const file of running.values()) await file.remove();
      }),
      runs(30),
    );
  });

  it("is a file of its own for each of many agents that start and stop at the same time", async () => {
    const path = join(temporaryFolder(), "admin-token");
    writeFileSync(path, "left by a killed agent");
    const files = Array.from({ length: 12 }, () => new TokenFile(path));
    await Promise.all(files.map((file) => file.write()));
    for (const file of files) expect(textOf(file.path)).toBe(file.token);
    const [staying, leaving] = [files.slice(0, 6), files.slice(6)];
    await Promise.all(leaving.map((file) => file.remove()));
    for (const file of staying) expect(textOf(file.path)).toBe(file.token);
    await Promise.all(staying.map((file) => file.remove()));
  });

  it("is shared by an extension and its successor in the same agent", async () => {
    const path = join(temporaryFolder(), "admin-token");
    const host = {} as BuiltInHost;
    const [former, successor] = [tokenFileOf(host, path), tokenFileOf(host, path)];
    await former.write();
    const { token } = former;
    await successor.write();
    await former.remove();
    expect([successor.path, textOf(path)]).toEqual([path, token]);
    await successor.remove();
    expect(existsSync(path)).toBe(false);
  });
});
