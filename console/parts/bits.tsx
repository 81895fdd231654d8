import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client.js";
import type { Time } from "../api/shapes.js";
import type { Loaded } from "../api/use-load.js";
import { clockText, durationText, toMs } from "./format.js";
import { Text } from "./text.js";

export type Tone = "good" | "warn" | "bad" | "off" | "info";

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const STATE_TONES = { UP: "good", DEGRADED: "warn", DOWN: "bad" } as const;

/** The state of an exporter or a receiver, in the same colour on every page. */
export function StateBadge({ state }: { state: keyof typeof STATE_TONES }) {
  return <Badge tone={STATE_TONES[state]}>{state}</Badge>;
}

/** A relative time, with the exact time as a tooltip. */
export function Ago({ at }: { at: Time | undefined }) {
  if (at === undefined) return <span class="dim">never</span>;
  const age = Date.now() - toMs(at);
  return (
    <time dateTime={new Date(toMs(at)).toISOString()} title={clockText(at)}>
      {age < 1_000 ? "just now" : `${durationText(age)} ago`}
    </time>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** The message of an action that failed; nothing while there is none. */
export function ErrorText({ message }: { message: string | undefined }) {
  if (message === undefined || message === "") return null;
  return (
    <p class="problem" role="alert">
      <Text value={message} />
    </p>
  );
}

/** The error of a request. If the agent lacks a part or a thing, that is shown as a note, not as an error. */
export function Problem({ error, part }: { error: ApiError; part: string }) {
  if (error.status === 404)
    return (
      <Empty>
        {part}: {isUnknownPath(error) ? "not available on this agent." : <Text value={`${error.message}.`} />}
      </Empty>
    );
  if (error.status === 401 || error.status === 0) return null;
  if (error.status === 403)
    return (
      <p class="problem">
        {part}: your token does not allow this (<Text value={error.message} />
        ).
      </p>
    );
  return (
    <p class="problem" role="alert">
      {part}: <Text value={error.message} />
    </p>
  );
}

/** Whether the API of this agent has no such path, rather than no such entry, replay or node. */
function isUnknownPath({ message }: ApiError): boolean {
  return message.startsWith("there is nothing at ");
}

/** The loaded data, or a placeholder until then. */
export function Load<T>({
  of,
  part,
  children,
}: {
  of: Loaded<T>;
  part: string;
  children: (data: T) => ComponentChildren;
}) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error !== undefined) return <Problem error={of.error} part={part} />;
  return <p class="empty">Loading…</p>;
}

/** Names and values in two columns. */
export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
