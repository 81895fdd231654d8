import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { PluginFolders } from "../../../../src/runtime/host/plugins/plugin-folders.js";
import { packageFolder } from "../../../../src/runtime/system/package-info.js";
import { cleanUp, temporaryFolder } from "../../../agent/embed/support.js";

afterAll(cleanUp);

/** An error with these lines behind its message. */
function thrown(...frames: string[]): Error {
  const error = new Error("no");
  error.stack = ["Error: no", ...frames.map((frame) => `    at ${frame}`)].join("\n");
  return error;
}

/** Places with one plugin, a file of a package in a folder of its own. */
function places(): { places: PluginFolders; file: string; url: string } {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "package.json"), "{}");
  const file = join(folder, "plugin.mjs");
  const url = pathToFileURL(file).href;
  const known = new PluginFolders();
  known.add("mine", url);
  return { places: known, file, url };
}

describe("PluginPlaces", () => {
  it("names the plugin whose code is the first beside that of Node.js", () => {
    const { places: known, file, url } = places();
    for (const frame of [`run (${url}:1:2)`, `${url}:1:2`, `async ${url}:1:2`, `run (${file}:1:2)`, `${file}:1:2`]) {
      expect(known.pluginOf(thrown(frame))).toBe("mine");
      expect(known.pluginOf(thrown("new URL (node:internal/url:797:36)", "node:internal/timers:1:2", frame))).toBe(
        "mine",
      );
      expect(known.pluginOf(thrown("Object.openSync (node:fs:573:18)", frame))).toBe("mine");
    }
  });

  it("does not take the code of Sluice, or of packages, for that of the plugin that called it", () => {
    const { places: known, file, url } = places();
    const own = pathToFileURL(join(packageFolder()!, "dist/bundle/main.js")).href;
    for (const frame of [`run (${own}:1:2)`, `send (${join(dirname(file), "node_modules/x/index.js")}:1:2)`]) {
      expect(known.pluginOf(thrown(frame, `run (${url}:1:2)`))).toBeUndefined();
    }
  });

  it("does not take Sluice for the code of a plugin in a folder around it", () => {
    const known = new PluginFolders();
    const around = temporaryFolder();
    const own = join(around, "packages/sluice");
    mkdirSync(join(own, "dist"), { recursive: true });
    writeFileSync(join(around, "package.json"), "{}");
    writeFileSync(join(own, "package.json"), '{ "name": "sluice" }');
    known.add("mine", pathToFileURL(join(around, "plugin.mjs")).href);
    expect(known.pluginOf(thrown(`run (${join(own, "dist/main.js")}:1:2)`))).toBeUndefined();
    expect(known.pluginOf(thrown(`run (${join(around, "lib/mine.js")}:1:2)`))).toBe("mine");
  });

  it("blames no plugin for an error without a readable stack", () => {
    const { places: known } = places();
    const unreadable = Object.defineProperty(new Error("no"), "stack", { get: () => Symbol("none") });
    for (const what of [undefined, "text", thrown(), thrown("node:internal/timers:1:2"), unreadable]) {
      expect(known.pluginOf(what)).toBeUndefined();
    }
  });
});
