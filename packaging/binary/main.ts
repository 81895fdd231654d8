/** The command line as the main program of a single executable. */
import process from "node:process";
import { runProcess } from "../../src/agent/cli/process/run-process.js";

void runProcess(process);
