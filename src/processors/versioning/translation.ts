import { type SchemaChange, type SchemaFamily, type SchemaSubject, SUBJECTS } from "./schema-file.js";

/** The new name of a subject, and the new keys of its attributes. */
export interface Renaming {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** Limit of the cache, because names come from clients. */
const MAX_REMEMBERED = 2000;

/** The translation from one version of a schema to another, up or down. */
export class Translation {
  private readonly steps: Readonly<Record<SchemaSubject, readonly SchemaChange[]>>;
  private readonly remembered = new Map<string, Renaming>();

  constructor(family: SchemaFamily, from: string, to: string) {
    const steps = SUBJECTS.map((subject) => [subject, stepsBetween(family, subject, from, to)] as const);
    this.steps = Object.fromEntries(steps) as Record<SchemaSubject, SchemaChange[]>;
  }

  /** Whether all changes in between are renames; nothing else can be translated. */
  canTranslate(subjects: readonly SchemaSubject[]): boolean {
    return subjects.every((subject) => this.steps[subject].every(({ renames }) => renames !== "other"));
  }

  /** Whether the result depends on the name of the subject. */
  dependsOnNames(subject: SchemaSubject): boolean {
    return this.steps[subject].some(
      (step) => step.renames === "names" || (step.renames === "attributes" && (step.names ?? step.spans) !== undefined),
    );
  }

  /** Returns the renaming for a subject of this name, in a span of that name. */
  renamingOf(subject: SchemaSubject, name = "", span = ""): Renaming {
    const key = `${subject} ${span}\u0000${name}`;
    let renaming = this.remembered.get(key);
    if (renaming === undefined) {
      renaming = combineRenames(this.steps[subject], name, span);
      if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
      this.remembered.set(key, renaming);
    }
    return renaming;
  }
}

function stepsBetween(family: SchemaFamily, subject: SchemaSubject, from: string, to: string): SchemaChange[] {
  const { versions, changes } = family;
  const [a, b] = [versions.indexOf(from), versions.indexOf(to)];
  const between = versions.slice(Math.min(a, b) + 1, Math.max(a, b) + 1);
  const steps = between.flatMap((version) => changes.get(version)?.[subject] ?? []);
  return a <= b ? steps : steps.reverse().map(invert);
}

/** If two old names became one new name, going back gives the first of them. */
function invert(change: SchemaChange): SchemaChange {
  if (change.renames === "other") return change;
  const map = new Map<string, string>();
  for (const [from, to] of change.map) if (!map.has(to)) map.set(to, from);
  return { ...change, map };
}

function combineRenames(steps: readonly SchemaChange[], name: string, span: string): Renaming {
  const attributes = new Map<string, string>();
  let current = name;
  for (const step of steps) {
    if (step.renames === "names") current = step.map.get(current) ?? current;
    else if (step.renames === "attributes" && applies(step, current, span)) composeRenames(attributes, step.map);
  }
  for (const [from, to] of attributes) if (from === to) attributes.delete(from);
  return { name: current, attributes };
}

function applies(
  { names, spans }: Extract<SchemaChange, { renames: "attributes" }>,
  name: string,
  span: string,
): boolean {
  return (names === undefined || names.has(name)) && (spans === undefined || spans.has(span));
}

/** Extends the map from old keys to present ones by one more step. */
function composeRenames(attributes: Map<string, string>, step: ReadonlyMap<string, string>): void {
  for (const [from, now] of attributes) attributes.set(from, step.get(now) ?? now);
  for (const [from, to] of step) if (!attributes.has(from)) attributes.set(from, to);
}
