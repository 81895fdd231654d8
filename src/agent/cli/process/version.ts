import { packageVersion } from "#system";
import { EXIT, type Terminal } from "../terminal.js";

export function isVersion(argument: string | undefined): boolean {
  return argument === "--version" || argument === "-v";
}

export function printVersion(terminal: Terminal): number {
  terminal.out.write(`${packageVersion()}\n`);
  return EXIT.ok;
}
