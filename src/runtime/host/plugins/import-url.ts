import { registerOwnPackage } from "./own-package.js";

/** The exports of a plugin's module. */
export type PluginModule = Readonly<Record<string, unknown>>;

/** Imports a module; makes sure that it can import Sluice from wherever it is. */
export async function importUrl(url: string): Promise<PluginModule> {
  registerOwnPackage(url);
  return (await import(url)) as PluginModule;
}
