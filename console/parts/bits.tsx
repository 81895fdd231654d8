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

/** How long ago, with the exact time for whoever points at it. */
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

/** What went wrong with loading; an agent that does not have a part is no error. */
export function Problem({ error, part }: { error: ApiError; part: string }) {
  if (error.status === 404) return <Empty>{part}: not available on this agent.</Empty>;
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

/** What was loaded, or what there is to say instead. */
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

/** Names and values, in two columns. */
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
