#!/usr/bin/env node
import process from "node:process";
import { runProcess } from "../dist/runtime/cli/main.js";

await runProcess(process);
