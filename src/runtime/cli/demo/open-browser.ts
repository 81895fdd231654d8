import { spawn } from "node:child_process";
import type { Terminal } from "../terminal.js";

/** Opens an address in the browser of this desktop; false when there is no desktop, or nothing to open it with. */
export function openBrowser(url: string, env: Terminal["env"], platform: NodeJS.Platform): Promise<boolean> {
  const command = commandFor(env, platform);
  if (command === undefined) return Promise.resolve(false);
  const [program, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false)).once("spawn", () => resolve(true));
    child.unref();
  });
}

/** Over ssh the desktop, if there is one, is not that of the person. */
function commandFor(env: Terminal["env"], platform: NodeJS.Platform): readonly [string, ...string[]] | undefined {
  if (env["SSH_CONNECTION"]) return undefined;
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}
