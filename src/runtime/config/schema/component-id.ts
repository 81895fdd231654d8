import type { ComponentKind } from "#contract";

/** The sections of a config that define components, and the kind that each section holds. */
export const SECTIONS = {
  receivers: "receiver",
  processors: "processor",
  exporters: "exporter",
  connectors: "connector",
  extensions: "extension",
} as const satisfies Record<string, ComponentKind>;

export type SectionName = keyof typeof SECTIONS;

/** Valid component types. The Collector's have no dashes; those of plugins may. */
export const TYPE_PATTERN = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/;

/** Splits `type[/name]`, ignoring spaces as the Collector does; undefined when the id is invalid. */
export function parseId(text: string): { readonly id: string; readonly type: string } | undefined {
  const slash = text.indexOf("/");
  const type = (slash === -1 ? text : text.slice(0, slash)).trim();
  const name = slash === -1 ? undefined : text.slice(slash + 1).trim();
  if (!TYPE_PATTERN.test(type)) return undefined;
  if (name === undefined) return { id: type, type };
  return /^[^\s\p{C}]{1,1024}$/u.test(name) ? { id: `${type}/${name}`, type } : undefined;
}
