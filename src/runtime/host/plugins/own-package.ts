import module, { createRequire } from "node:module";

/**
 * Lets a plugin import `sluice/plugin` (and zod and rxjs, which Sluice depends on) even if they are not installed next
 * to it, such as a single file next to a config with a globally installed Sluice. Packages installed next to the plugin
 * take precedence. Does nothing if the plugin can resolve Sluice itself.
 */
export function registerOwnPackage(pluginUrl: string): void {
  if (isRegistered || canResolveSluice(pluginUrl)) return;
  isRegistered = true;
  module.register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, import.meta.url, {
    data: { from: import.meta.url },
  });
}

let isRegistered = false;

function canResolveSluice(pluginUrl: string): boolean {
  try {
    createRequire(pluginUrl).resolve("sluice/plugin");
    return true;
  } catch {
    return false;
  }
}

/** Source code as a string, because it runs in the loader's own thread. */
const HOOKS = `
export { initialize, resolve };
let from;
function initialize(data) {
  from = data.from;
}
async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !/^(sluice|zod|rxjs)(\\/|$)/.test(specifier)) throw error;
    return next(specifier, { ...context, parentURL: from });
  }
}
`;
