import { lchownSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { keepingLogger, LogFiles } from "./harness.js";

const isRoot = process.geteuid?.() === 0;
const NOBODY = 65534;

describe("links with follow_symlinks: false", () => {
  it("are not followed out of the folders of include, and the log says where they lead", async () => {
    const { files, outside } = prepare();
    const { logger, lines } = keepingLogger();
    symlinkSync(join(outside, "shadow"), files.path("link.log"));
    symlinkSync(outside, files.path("folder"));
    symlinkSync("link.log", files.path("chain.log"));
    writeFileSync(files.path("own.log"), "own\n");
    await files.start({ follow_symlinks: false, include: [files.path("*.log"), files.path("*/shadow")] }, logger);
    await expect.poll(() => lines.join()).toContain(`links lead to ${join(outside, "shadow")}`);
    await expect.poll(() => files.bodies).toEqual(["own"]);
  });

  it("are followed within the folders of include, as rotation needs it", async () => {
    const { files } = prepare();
    mkdirSync(files.path("data"));
    writeFileSync(files.path("data/1"), "one\n");
    symlinkSync("data/1", files.path("current.log"));
    await files.start({ follow_symlinks: false });
    await expect.poll(() => files.bodies).toEqual(["one"]);
    writeFileSync(files.path("data/2"), "two\n");
    symlinkSync("data/2", files.path("next"));
    renameSync(files.path("next"), files.path("current.log"));
    await expect.poll(() => files.bodies).toEqual(["one", "two"]);
  });

  it("are followed into symlink_roots", async () => {
    const { files, outside } = prepare();
    symlinkSync(join(outside, "shadow"), files.path("link.log"));
    await files.start({ follow_symlinks: false, symlink_roots: [outside] });
    await expect.poll(() => files.bodies).toEqual(["root:hash"]);
  });

  it("lead nowhere when a link of another user replaces the folder of a pattern", { skip: !isRoot }, async () => {
    const { files, outside } = prepare();
    const { logger, lines } = keepingLogger();
    symlinkSync(outside, files.path("home"));
    lchownSync(files.path("home"), NOBODY, NOBODY);
    await files.start({ follow_symlinks: false, include: [files.path("home/*")] }, logger);
    await expect.poll(() => lines.join()).toContain("links lead to");
    expect(files.bodies).toEqual([]);
    rmSync(files.path("home"));
    symlinkSync(outside, files.path("home"));
    await expect.poll(() => files.bodies).toEqual(["root:hash"]);
  });
});

describe("links without the key", () => {
  it("are followed everywhere, but not by root", async () => {
    const { files, outside } = prepare();
    const { logger, lines } = keepingLogger();
    symlinkSync(join(outside, "shadow"), files.path("link.log"));
    await files.start({}, logger);
    if (isRoot) await expect.poll(() => lines.join()).toContain("links lead to");
    else await expect.poll(() => files.bodies).toEqual(["root:hash"]);
    if (isRoot) expect(files.bodies).toEqual([]);
  });

  it("are followed everywhere with follow_symlinks: true", async () => {
    const { files, outside } = prepare();
    symlinkSync(join(outside, "shadow"), files.path("link.log"));
    await files.start({ follow_symlinks: true });
    await expect.poll(() => files.bodies).toEqual(["root:hash"]);
  });
});

/** A folder of logs, and one beside it with a file that is none of them. */
function prepare() {
  const outside = temporaryFolder();
  writeFileSync(join(outside, "shadow"), "root:hash\n");
  return { files: new LogFiles(), outside };
}
