import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makePrivate, makePrivateDirectory } from "../../../src/runtime/system/private-files.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

const rightsOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test("leaves what is in a directory to its owner, and says how much others could use", async () => {
  const folder = temporaryFolder();
  const inner = join(folder, "inner");
  mkdirSync(inner);
  chmodSync(inner, 0o755);
  writeFileSync(join(inner, "readable"), "", { mode: 0o644 });
  writeFileSync(join(inner, "private"), "", { mode: 0o400 });
  chmodSync(join(inner, "readable"), 0o664);
  expect(await makePrivate(inner)).toBe(2);
  expect([inner, join(inner, "readable"), join(inner, "private")].map(rightsOf)).toEqual(["700", "600", "400"]);
  expect(await makePrivate(inner)).toBe(0);
});

test("changes nothing behind a link, and passes over what is not there", async () => {
  const folder = temporaryFolder();
  const [outside, link] = [join(folder, "outside"), join(folder, "link")];
  writeFileSync(outside, "");
  chmodSync(outside, 0o644);
  symlinkSync(outside, link);
  expect(await makePrivate(link)).toBe(0);
  expect(rightsOf(outside)).toBe("644");
  expect(await makePrivate(join(folder, "nothing"))).toBe(0);
});

test("makes directories for their owner, and leaves one that is there as it is", async () => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  await makePrivateDirectory(join(folder, "a", "b"));
  expect(["", "a", "a/b"].map((name) => rightsOf(join(folder, name)))).toEqual(["755", "700", "700"]);
});

test.runIf(existsSync("/proc/self"))("ends with an error where no directory can be made", async () => {
  for (const path of ["/proc/nope", "/proc/nope/queue"])
    await expect(makePrivateDirectory(path)).rejects.toMatchObject({ code: "ENOENT" });
});

test("ends with an error where a file is in the way", async () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  await expect(makePrivateDirectory(file)).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makePrivateDirectory(join(file, "inner"))).rejects.toMatchObject({ code: "ENOTDIR" });
});
