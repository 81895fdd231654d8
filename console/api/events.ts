import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, request } from "./client.js";
import { reportLost } from "./connection.js";
import { pageShown } from "./page-shown.js";
import { useValue } from "./value.js";

/** One event of a stream; `data` is its parsed JSON. */
export interface StreamEvent {
  readonly name: string;
  readonly data: unknown;
}

export type StreamState = "connecting" | "open" | "ended" | { readonly error: ApiError };

const RETRY_MS = 2_000;

/**
 * Reads server-sent events until aborted, and reconnects after a break. `EventSource` cannot send a token, so the
 * stream is parsed here. An error response ends it.
 */
export async function readEvents(
  path: string,
  onEvent: (event: StreamEvent) => void,
  onState: (state: StreamState) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    onState("connecting");
    try {
      const response = await request("GET", path, signal);
      onState("open");
      await readStream(response.body!, onEvent);
      if (!signal.aborted) reportLostUnlessEnded(response);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status !== 0 && error.status < 500) return onState({ error });
    }
    await pause(signal);
  }
}

/** When an agent stops its streams simply end; another request shows whether it is still there. */
function reportLostUnlessEnded(response: Response): void {
  if (response.bodyUsed) void request("GET", "/").catch(() => reportLost());
}

async function readStream(body: ReadableStream<Uint8Array>, onEvent: (event: StreamEvent) => void): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop()!;
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event !== undefined) onEvent(event);
    }
  }
}

/** Undefined for a comment, such as those that keep the connection open. */
export function parseEvent(block: string): StreamEvent | undefined {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    // The flag `s` is needed because data may contain characters that a dot does not match.
    const [, field, value] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    if (field === "event") name = value!;
    else if (field === "data") data.push(value!);
  }
  return data.length === 0 ? undefined : { name, data: JSON.parse(data.join("\n")) };
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, RETRY_MS);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Reads a stream while the component is mounted, the page is visible, and a path is given. */
export function useEvents(path: string | undefined, onEvent: (event: StreamEvent) => void): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const listener = useRef(onEvent);
  listener.current = onEvent;
  const isShown = useValue(pageShown);
  useEffect(() => {
    if (path === undefined) return setState("ended");
    if (!isShown) return setState("connecting");
    const abort = new AbortController();
    const onState = (next: StreamState) => {
      if (!abort.signal.aborted) setState(next);
    };
    void readEvents(path, (event) => listener.current(event), onState, abort.signal);
    return () => abort.abort();
  }, [path, isShown]);
  return state;
}
