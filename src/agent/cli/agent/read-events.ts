import type { IncomingMessage } from "node:http";

/** One event of a stream of server-sent events. */
export interface AgentEvent {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: what the data is depends on the event
  readonly data: any;
}

/** The events of an answer, until it ends. */
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

/** Only a newline ends a line here: there are other characters in data that a regular expression takes for one. */
function fieldOf(block: string, name: string): string | undefined {
  const line = block.split("\n").find((each) => each.startsWith(name));
  return line?.slice(name.length);
}
