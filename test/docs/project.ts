import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installSluice } from "../support/installed.js";
import type { Page } from "./pages.js";

let root: string | undefined;

/** A folder with the files that a page shows, in a project that has Sluice installed: one for all pages. */
export function folderOf({ name, blocks }: Page): string {
  root ??= installedProject();
  const folder = join(root, name.replace(/\W/g, "-"));
  mkdirSync(folder, { recursive: true });
  for (const { file, text } of blocks) if (file !== undefined) writeFileSync(join(folder, file), text);
  return folder;
}

/** Removes the project, for when all pages have been tried. */
export function removeProject(): void {
  if (root !== undefined) rmSync(root, { recursive: true, force: true });
  root = undefined;
}

function installedProject(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-docs-"));
  installSluice(folder);
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  return folder;
}
