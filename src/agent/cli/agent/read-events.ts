import type { IncomingMessage } from "node:http";

/** One event of a stream of server-sent events. */
export interface AgentEvent {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: the type of the data depends on the event
  readonly data: any;
}

/** Yields the events of a response until it ends. */
export async function* readEvents(response: IncomingMessage): AsyncGenerator<AgentEvent> {
  let rest = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const event = fieldOf(block, "event: ");
      const data = fieldOf(block, "data: ");
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}

/**
 * Splits at "
 * " only: data may contain other characters that a regular expression treats as line ends.
 */
function fieldOf(block: string, name: string): string | undefined {
  const line = block.split("\n").find((each) => each.startsWith(name));
  return line?.slice(name.length);
}
