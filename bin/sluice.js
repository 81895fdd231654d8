#!/usr/bin/env node
import module from "node:module";
import process from "node:process";

// SIGHUP never ends an agent. Its config is not read yet, so there is nothing to reload.
if (process.argv[2] === "run") process.on("SIGHUP", () => {});
// Node.js 22 and later keep what they compiled for the next start.
module.enableCompileCache?.();
const { runProcess } = await import("../dist/bundle/main.js");

await runProcess(process);
