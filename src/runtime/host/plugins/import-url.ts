import { registerOwnPackage } from "./own-package.js";

/** What a plugin's module exports. */
export type PluginModule = Readonly<Record<string, unknown>>;

/** Runs a module, which may import Sluice wherever it is. */
export async function importUrl(url: string): Promise<PluginModule> {
  registerOwnPackage(url);
  return (await import(url)) as PluginModule;
}
