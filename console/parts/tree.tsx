import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Text } from "./text.js";

const PAGE = 50;
/** Deeper or wider branches are collapsed at first. */
const MAX_OPEN_DEPTH = 9;
const MAX_OPEN_CHILDREN = 30;

/** A value as a collapsible tree; OTLP attributes are shown as names and values. */
export function Tree({ value, name, depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  const plain = plainOf(value);
  if (typeof plain !== "object" || plain === null) {
    return (
      <div class="leaf">
        <Name name={name} />
        <Scalar value={plain} />
      </div>
    );
  }
  const children = childrenOf(plain);
  if (children.length === 0) {
    return (
      <div class="leaf">
        <Name name={name} />
        <span class="dim">{Array.isArray(plain) ? "[ ]" : "{ }"}</span>
      </div>
    );
  }
  return (
    <Branch name={name} depth={depth} isList={Array.isArray(plain)}>
      {children}
    </Branch>
  );
}

type Child = readonly [name: string, value: unknown];

function Branch(props: { name: string | undefined; depth: number; isList: boolean; children: readonly Child[] }) {
  const { name, depth, isList, children } = props;
  const [isOpen, setOpen] = useState(depth < MAX_OPEN_DEPTH && children.length <= MAX_OPEN_CHILDREN);
  const [limit, setLimit] = useState(PAGE);
  return (
    <details class="branch" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Name name={name} />
        <span class="dim">{isList ? `[${children.length}]` : `{${children.length}}`}</span>
      </summary>
      {isOpen && (
        <div class="children">
          {children.slice(0, limit).map(([key, child]) => (
            <Tree key={key} name={key} value={child} depth={depth + 1} />
          ))}
          {children.length > limit && (
            <button type="button" class="link" onClick={() => setLimit(limit + PAGE * 4)}>
              show more ({children.length - limit} left)
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function Name({ name }: { name: string | undefined }): ComponentChildren {
  if (name === undefined) return null;
  return (
    <span class="key">
      <Text value={name} max={120} inline />
    </span>
  );
}

function Scalar({ value }: { value: unknown }) {
  if (typeof value === "string")
    return (
      <span class="string">
        <Text value={value} />
      </span>
    );
  return <span class="scalar">{String(value)}</span>;
}

function childrenOf(value: object): Child[] {
  if (!Array.isArray(value)) return Object.entries(value);
  if (value.length > 0 && value.every(isAttribute)) return value.map(({ key, value: inner }) => [key, inner]);
  return value.map((each, i) => [String(i), each]);
}

function isAttribute(value: unknown): value is { key: string; value: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const { key, value: _, ...rest } = value as Record<string, unknown>;
  return typeof key === "string" && Object.keys(rest).length === 0;
}

const KINDS = new Set([
  "stringValue",
  "boolValue",
  "intValue",
  "doubleValue",
  "bytesValue",
  "arrayValue",
  "kvlistValue",
]);

/** The content of an OTLP AnyValue; other values are returned unchanged. */
function plainOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  const [kind, inner] = entries[0] ?? [];
  if (entries.length !== 1 || kind === undefined || !KINDS.has(kind)) return value;
  if (kind === "arrayValue" || kind === "kvlistValue") return (inner as { values?: unknown })?.values ?? [];
  return inner;
}
