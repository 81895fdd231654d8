/** In place of src/runtime/system/package-info.ts: the executable is no package, so what it is was written down when it was built. */
import { dirname, join } from "node:path";
import process from "node:process";

declare const SLUICE_VERSION: string;

/** Where the package would be if it was installed beside the executable; nothing need be there. */
export function packageFolder(): string {
  return join(dirname(process.execPath), "node_modules", "sluice");
}

export function packageVersion(): string {
  return SLUICE_VERSION;
}
