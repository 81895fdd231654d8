#!/usr/bin/env node
const { process } = globalThis;
const [, , command] = process.argv;

// SIGHUP never ends an agent. Its config is not read yet, so there is nothing to reload.
if (command === "run") process.on("SIGHUP", () => {});
keepCompiledCode();
const { runProcess } = await import("../dist/bundle/run-process.js");

await runProcess(process);

/**
 * Lets Node.js 22 and later keep what they compile for the next start, in a folder that only this user can write to:
 * Node.js runs what it finds there. Without such a folder nothing is kept. The variables NODE_COMPILE_CACHE and
 * NODE_DISABLE_COMPILE_CACHE of Node.js have precedence.
 */
function keepCompiledCode() {
  const { enableCompileCache } = process.getBuiltinModule("node:module");
  const { NODE_COMPILE_CACHE, NODE_DISABLE_COMPILE_CACHE } = process.env;
  const folder = enableCompileCache && !NODE_COMPILE_CACHE && !NODE_DISABLE_COMPILE_CACHE && ownFolder();
  if (folder) enableCompileCache(folder);
}

/** The owner's folder in the temporary folder, where anyone may have made one of this name. */
function ownFolder() {
  const { existsSync, lstatSync, mkdirSync } = process.getBuiltinModule("node:fs");
  const user = process.getuid?.();
  const folder = `${process.getBuiltinModule("node:os").tmpdir()}/sluice-code-${user ?? "cache"}`;
  try {
    if (!existsSync(folder)) mkdirSync(folder, 0o700);
    const found = lstatSync(folder);
    // Windows has a temporary folder for each user.
    const isOwn = user === undefined || (found.uid === user && (found.mode & 0o022) === 0);
    return found.isDirectory() && isOwn ? folder : undefined;
  } catch {
    return undefined;
  }
}
