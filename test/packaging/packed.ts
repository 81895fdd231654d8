import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

export const project = join(import.meta.dirname, "../..");
const run = promisify(execFile);

/** The output of `npm pack` about a package. */
export interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** Packs a checkout, as it was built; gives what is in it and the folder that the tarball is in. */
export async function pack(checkout: string = project): Promise<{ readonly packed: Packed; readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-packed-"));
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", args, { cwd: checkout });
  return { packed: (JSON.parse(stdout) as [Packed])[0], folder };
}

/**
 * An empty project with the tarball installed, as npm leaves it. There is no registry here, so the tarball is unpacked by
 * hand, and exactly the packages that it depends on are linked beside it, from this checkout; so are the names in `tools`.
 */
export async function installInto(folder: string, tarball: string, tools: readonly string[] = []): Promise<void> {
  const own = join(folder, "node_modules", "sluice");
  mkdirSync(own, { recursive: true });
  await run("tar", ["-xzf", tarball, "-C", own, "--strip-components=1"]);
  const manifest = JSON.parse(readFileSync(join(own, "package.json"), "utf8")) as { dependencies: object };
  for (const name of [...Object.keys(manifest.dependencies), ...tools]) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(project, "node_modules", name), link);
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "empty-project", type: "module" }));
}
