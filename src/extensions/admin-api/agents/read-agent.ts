import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { AgentState, AgentSummary, ExporterCounts } from "#contract/api";
import { connectionErrorMessage, openRequest, parseAnswer, readAnswer, type TlsClientOptions } from "#net";
import { maskText } from "#text";

/** Where an agent is asked. The token goes nowhere else: redirects are not followed. */
interface AgentTarget {
  readonly url: URL;
  readonly tls: TlsClientOptions;
  readonly token: string | undefined;
}

/** Room for about 500 exporters. */
const MAX_ANSWER_BYTES = 512 * 1024;
const MAX_OBJECTS = 20_000;

const text = z.string().transform((value) => value.slice(0, 200));
const count = z.number().nonnegative();
const agentAnswer = z.object({
  name: text,
  version: text,
  state: text,
  startedAt: text,
  generation: text,
  /** How many configs it has run with; older agents do not tell. */
  generationNumber: count.optional(),
});
const exportersAnswer = z.object({
  exporters: z.array(
    z.object({
      state: z.enum(["UP", "DEGRADED", "DOWN"]),
      paused: z.boolean(),
      breaker: z.object({ state: z.enum(["closed", "open", "half_open"]) }),
      queue: z.object({ entries: count, bytes: count }),
      deadLetters: z.object({ entries: count }),
    }),
  ),
});

/** Never rejects: an agent that cannot be read is described as such. */
export async function readAgent(target: AgentTarget, signal: AbortSignal): Promise<AgentSummary> {
  try {
    const agent = agentAnswer.parse(await getJson(target, "/api/v1/agent", signal));
    const exporters = await readExporters(target, signal);
    const isReady = agent.state === "ready";
    return { state: isReady ? worstOf(exporters) : "DOWN", agent, ...(exporters && { exporters }) };
  } catch (error) {
    if (error instanceof AnswerError) return { state: error.state, problem: maskText(error.message) };
    if (error instanceof z.ZodError || error instanceof SyntaxError) return { state: "INVALID", problem: NO_AGENT };
    const problem = signal.aborted ? "no answer in time" : connectionErrorMessage(error);
    return { state: "UNREACHABLE", problem: maskText(problem).slice(0, 300) };
  }
}

const NO_AGENT = "the server there is not the API of a Sluice agent";

async function readExporters(target: AgentTarget, signal: AbortSignal): Promise<ExporterCounts | undefined> {
  let answer: unknown;
  try {
    answer = await getJson(target, "/api/v1/exporters", signal);
  } catch (error) {
    if (error instanceof AnswerError && error.status === 503) return undefined; // it runs without queues
    throw error;
  }
  const { exporters } = exportersAnswer.parse(answer);
  const number = (is: (each: (typeof exporters)[number]) => boolean) => exporters.filter(is).length;
  const sum = (of: (each: (typeof exporters)[number]) => number) => exporters.reduce((all, each) => all + of(each), 0);
  return {
    total: exporters.length,
    degraded: number(({ state }) => state === "DEGRADED"),
    down: number(({ state }) => state === "DOWN"),
    paused: number(({ paused }) => paused),
    openBreakers: number(({ breaker }) => breaker.state === "open"),
    halfOpenBreakers: number(({ breaker }) => breaker.state === "half_open"),
    deadLetters: sum(({ deadLetters }) => deadLetters.entries),
    queuedEntries: sum(({ queue }) => queue.entries),
    queuedBytes: sum(({ queue }) => queue.bytes),
  };
}

function worstOf(exporters: ExporterCounts | undefined): AgentState {
  if (exporters === undefined) return "UP";
  return exporters.down > 0 ? "DOWN" : exporters.degraded > 0 ? "DEGRADED" : "UP";
}

/** An answer that is no success. */
class AnswerError extends Error {
  readonly state: AgentState;
  readonly status: number;

  constructor(state: AgentState, status: number, message: string) {
    super(message);
    this.state = state;
    this.status = status;
  }
}

async function getJson({ url, tls, token }: AgentTarget, path: string, signal: AbortSignal): Promise<unknown> {
  const headers = { accept: "application/json", ...(token !== undefined && { authorization: `Bearer ${token}` }) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    openRequest({ url: new URL(path, url), headers, tls, proxy: undefined, signal })
      .on("response", resolve)
      .on("upgrade", (_, socket) => {
        socket.destroy();
        reject(new AnswerError("INVALID", 101, NO_AGENT));
      })
      .on("error", reject)
      .on("close", () => reject(new Error("it closes the connection without an answer")))
      .end();
  });
  try {
    const { statusCode: status = 0 } = response;
    if (status === 401 || status === 403)
      throw new AnswerError(
        "DENIED",
        status,
        `it answers ${status}: check the token, its roles, and allowed_hosts there`,
      );
    if (status === 503) throw new AnswerError("UNREACHABLE", status, "it answers 503: is it starting?");
    if (status !== 200) throw new AnswerError("INVALID", status, `it answers ${status}: ${NO_AGENT}`);
    const bytes = await readAnswer(response, MAX_ANSWER_BYTES);
    return parseAnswer(bytes, MAX_OBJECTS);
  } catch (error) {
    if (signal.aborted || error instanceof AnswerError || error instanceof SyntaxError) throw error;
    throw new AnswerError("INVALID", 200, (error as Error).message);
  } finally {
    response.destroy();
  }
}
