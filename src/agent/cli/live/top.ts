import process from "node:process";
import type { Sample } from "#contract/api";
import type { GraphDescription } from "#contract/operations";
import { readEvents } from "../agent/send-request.js";
import { type AgentApi, connectToAgent, withAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { openScreen, type Screen } from "../print/screen.js";
import { EXIT } from "../terminal.js";
import { type TopAgent, topView } from "./top-view.js";

const RETRY_MS = 2000;

/** `sluice top` */
export function top(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const isJson = values["json"] === true;
  const isOnce = values["once"] === true || (!isJson && !terminal.out.isTerminal);
  return withAgent(context, async (api) => {
    if (!isOnce && !isJson) return watch(context, api);
    for await (const sample of samples(api)) {
      if (isJson) terminal.out.write(`${JSON.stringify(sample)}\n`);
      else terminal.out.write(`${topView({ ...(await describe(api)), sample }, terminal.out).join("\n")}\n`);
      if (isOnce || !(await (terminal.out.drained?.() ?? true))) break;
    }
    return EXIT.ok;
  });
}

interface Described {
  readonly agent: TopAgent;
  readonly graph: GraphDescription;
  readonly origin: string;
}

async function describe(api: AgentApi): Promise<Described> {
  const [agent, graph] = await Promise.all([api.get<TopAgent>("/agent"), api.get<GraphDescription>("/graph")]);
  return { agent, graph, origin: api.origin };
}

async function* samples(api: AgentApi): AsyncGenerator<Sample> {
  const response = await api.open("/live");
  try {
    for await (const { event, data } of readEvents(response)) if (event === "sample") yield data as Sample;
  } finally {
    response.destroy();
  }
}

/** Draws until q is pressed. If the agent goes away, waits for it to come back: it may be restarting. */
async function watch(context: CommandContext, first: AgentApi): Promise<number> {
  const { colour } = context.terminal.out;
  let described = await describe(first);
  let sample: Sample | undefined;
  let connectionError: string | undefined;
  const ended = deferred();
  const abort = new AbortController();
  const draw = () => screen?.draw(topView({ ...described, sample, connectionError }, { ...sizeOf(screen), colour }));
  const screen = openScreen(process, {
    onKey(key) {
      if (key !== "q" && key !== "Q") return;
      abort.abort();
      ended.resolve();
    },
    onResize: draw,
  });
  const follow = async () => {
    while (!abort.signal.aborted) {
      try {
        const api = await connectToAgent(context);
        described = await describe(api);
        for await (const next of samples(api)) {
          if (abort.signal.aborted) return;
          [sample, connectionError] = [next, undefined];
          draw();
        }
        connectionError = "the agent closed the connection; retrying";
      } catch (error) {
        connectionError = `${(error as Error).message}; retrying`;
      }
      draw();
      await Promise.race([ended.promise, wait(RETRY_MS)]);
    }
  };
  draw();
  await Promise.race([follow(), ended.promise]);
  screen?.close();
  return EXIT.ok;
}

function sizeOf({ columns, rows }: Screen) {
  return { columns, rows };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
