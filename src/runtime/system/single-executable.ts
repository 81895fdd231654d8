import process from "node:process";

/** True in the single executable, which is its own program and no Node.js for others. */
export function isSingleExecutable(): boolean {
  return process.getBuiltinModule("node:sea")?.isSea() ?? false;
}
