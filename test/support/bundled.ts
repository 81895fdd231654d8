import { symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { rolldown } from "rolldown";

const project = join(import.meta.dirname, "../..");

/**
 * One file of a script and the modules of dist/ and of packages that it imports, written into `folder`; gives its path.
 * Loading the hundreds of modules one by one costs a process more than what most scripts do, so a script that is started
 * again and again is bundled first.
 */
export async function bundled(script: string, folder: string): Promise<string> {
  const file = join(folder, basename(script));
  // Native modules are not bundled: they are looked for from where the file is.
  symlinkSync(join(project, "node_modules"), join(folder, "node_modules"));
  const bundle = await rolldown({ cwd: project, input: script, platform: "node", external: ["classic-level"] });
  await bundle.write({ file, codeSplitting: false });
  await bundle.close();
  return file;
}
