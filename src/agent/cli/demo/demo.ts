import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { CommandContext } from "../command.js";
import { EXIT, type Terminal, UsageError } from "../terminal.js";
import { type DemoAgent, startAgent } from "./agent.js";
import { type DemoBackend, startBackend } from "./backend.js";
import { type DemoEnd, type Guide, jsonGuide, textGuide } from "./guide.js";
import { type Keys, listenForKeys } from "./keys.js";
import { type DemoCounts, SCENES, type Scene } from "./scenes.js";
import { type DemoShop, startShop } from "./shop.js";

const TICK_MS = 100;

/**
 * `sluice demo`: runs a shop, an agent and a failing backend in this process. All of their files are deleted at the
 * end, however the demo ends.
 */
export async function demo(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const port = portGiven(values["port"] as string | undefined);
  const isJson = values["json"] === true;
  const guide = isJson ? jsonGuide(terminal.out) : textGuide(terminal.out);
  const keys = listenForKeys(!isJson && values["auto"] !== true && terminal.out.isTerminal);
  try {
    const end = await inFolder((folder) => run(context, { folder, port, guide, keys }));
    guide.end(end);
    return end.lost === 0 ? EXIT.ok : EXIT.failed;
  } catch (error) {
    terminal.err.write(`sluice: the demo cannot run: ${(error as Error).message}\n`);
    return EXIT.failed;
  } finally {
    keys.close();
  }
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-demo-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface DemoSettings {
  readonly folder: string;
  readonly port: number | undefined;
  readonly guide: Guide;
  readonly keys: Keys;
}

async function run(context: CommandContext, { folder, port, guide, keys }: DemoSettings): Promise<DemoEnd> {
  const { values, registry, terminal } = context;
  const backend = await startBackend();
  try {
    const agent = await startAgent(folder, backend.url, { port, registry, env: terminal.env });
    const shop = startShop(agent.logsUrl);
    try {
      const console = `${agent.origin}/#token=${agent.token}`;
      const opens = keys.isInteractive && values["no-open"] !== true;
      const isOpened = opens && (await openBrowser(backend.linkOnce(console), terminal.env, process.platform));
      const apiOption = agent.isAtDefaultPort ? "" : ` --api ${agent.origin}`;
      guide.begin({ origin: agent.origin, console, folder, isOpened, apiOption });
      return await play({ agent, backend, shop, guide, keys });
    } finally {
      await shop.stop();
      await agent.stop();
    }
  } finally {
    await backend.close();
  }
}

/** The parts of a running demo. */
interface Stage {
  readonly agent: DemoAgent;
  readonly backend: DemoBackend;
  readonly shop: DemoShop;
  readonly guide: Guide;
  readonly keys: Keys;
}

async function play(stage: Stage): Promise<DemoEnd> {
  const { keys, shop, backend } = stage;
  for (const scene of SCENES) {
    if (keys.ended.aborted) break;
    await playScene(scene, stage);
  }
  await shop.stop();
  await showCountsUntil(stage, () => countsOf(stage).waiting === 0);
  const counts = countsOf(stage);
  const isComplete = !keys.ended.aborted;
  const lost = isComplete ? counts.acknowledged - counts.delivered - counts.deadLetters : 0;
  return { ...counts, isComplete, lost, duplicates: backend.duplicates };
}

async function playScene(scene: Scene, stage: Stage): Promise<void> {
  const { guide, keys, agent } = stage;
  guide.scene(scene);
  scene.begin(stage);
  const isReached = () => scene.isReached(countsOf(stage));
  if (scene.name === "replay") await replay(scene, stage, isReached);
  else await showCountsUntil(stage, isReached);
  if (keys.ended.aborted) return;
  guide.reached(scene, countsOf(stage));
  if (scene.name !== "replay") guide.look(scene.look, await agent.firstDeadLetter());
  keys.takeEnter();
  if (!keys.isInteractive) return;
  guide.prompt(scene === SCENES.at(-1) ? "Enter: continue to the end" : "Enter: continue, q: quit");
  await showCountsUntil(stage, () => keys.takeEnter());
}

/**
 * Waits until the user replays the dead letters. Replays them itself when Enter is pressed, or when there is no
 * keyboard.
 */
async function replay({ look }: Scene, stage: Stage, isReached: () => boolean): Promise<void> {
  const { agent, guide, keys } = stage;
  guide.look(look, undefined);
  keys.takeEnter();
  let isAsked = !keys.isInteractive;
  if (keys.isInteractive) guide.prompt("Enter: replay here and continue, q: quit");
  await showCountsUntil(stage, () => isReached() || isAsked || (isAsked = keys.takeEnter()));
  if (keys.ended.aborted || isReached()) return;
  await agent.replayAll();
  await showCountsUntil(stage, isReached);
}

/** Shows the counts until `isOver` returns true, or the user ends the demo. */
async function showCountsUntil(stage: Stage, isOver: () => boolean): Promise<void> {
  const { guide, keys } = stage;
  while (!keys.ended.aborted && !isOver()) {
    guide.counts(countsOf(stage));
    await new Promise((resolve) => void setTimeout(resolve, TICK_MS));
  }
}

function countsOf({ agent, backend, shop }: Stage): DemoCounts {
  const { queue, deadLetters, breaker } = agent.status();
  return {
    acknowledged: shop.acknowledged,
    delivered: backend.taken.size,
    waiting: queue.items,
    deadLetters: deadLetters.items,
    breaker: breaker.state,
  };
}

function portGiven(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port ${text} is not a port`, "expected a number from 0 (any that is free) to 65535");
}

/** Opens an address in the desktop's browser. Returns false when there is no desktop, or no program to open it with. */
function openBrowser(url: string, env: Terminal["env"], platform: NodeJS.Platform): Promise<boolean> {
  const command = commandFor(env, platform);
  if (command === undefined) return Promise.resolve(false);
  const [program, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false)).once("spawn", () => resolve(true));
    child.unref();
  });
}

/** Returns undefined over ssh: the desktop, if there is one, is not in front of the user. */
function commandFor(env: Terminal["env"], platform: NodeJS.Platform): readonly [string, ...string[]] | undefined {
  if (env["SSH_CONNECTION"]) return undefined;
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}
