#!/usr/bin/env node
import process from "node:process";
import { runProcess } from "../dist/bundle/main.js";

await runProcess(process);
