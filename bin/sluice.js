#!/usr/bin/env node
import module from "node:module";
import process from "node:process";

// Node.js 22 and later keep what they compiled for the next start.
module.enableCompileCache?.();
const { runProcess } = await import("../dist/bundle/main.js");

await runProcess(process);
