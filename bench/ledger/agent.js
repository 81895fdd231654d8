import process from "node:process";
import { runProcess } from "../../dist/agent/cli/process/run-process.js";
import "./serve-meter.js";

/** `sluice` with meters inside: the same command line, of the modules before they are bundled, so that files have names. */
await runProcess(process);
