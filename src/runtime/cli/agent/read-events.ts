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
      const event = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}
