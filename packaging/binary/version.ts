/** In place of src/runtime/system/package-info.ts: the executable is no package, so what it is was written down when it was built. */
import { dirname, join } from "node:path";
import process from "node:process";
import vm from "node:vm";

declare const SLUICE_VERSION: string;

/** Where the package would be if it was installed beside the executable; nothing need be there. */
export function packageFolder(): string {
  return join(dirname(process.execPath), "node_modules", "sluice");
}

export function packageVersion(): string {
  return SLUICE_VERSION;
}

let load: ((url: string) => Promise<Record<string, unknown>>) | undefined;

/** The main program of an executable has no import() of its own; a script with the main loader has. */
export function importModule(url: string): Promise<Record<string, unknown>> {
  load ??= new vm.Script("(url) => import(url)", {
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }).runInThisContext() as (url: string) => Promise<Record<string, unknown>>;
  return load(url);
}
