import { type Document, isScalar, visit, type YAMLMap } from "yaml";
import type { LoadedConfig } from "#config";
import { keyRewrite } from "#config/schema";
import type { Problem } from "#config/text";
import { type ConfigChange, componentChanges } from "./component-changes.js";
import { moveKey } from "./move-key.js";
import { applyEdits, firstDocument, lineStart, type TextPair } from "./yaml-edits.js";

/** A change that was made to a config, or that was found and not made. */
export type ConfigRemark = Omit<ConfigChange, "edits">;

export interface MigratedText {
  readonly text: string;
  readonly remarks: readonly ConfigRemark[];
  /** The migrated config, loaded. Its problems are those that could not be fixed. */
  readonly loaded: LoadedConfig;
}

/**
 * Updates a config to today's names. Each change is made separately and kept only if the config gets no worse, so the
 * result loads at least as well as the original. Migrating twice changes nothing more.
 */
export function migrateText(before: string, load: (text: string) => LoadedConfig): MigratedText {
  const migration = new Migration(before, load);
  migration.changeComponents();
  migration.changeKeys();
  return migration;
}

class Migration implements MigratedText {
  text: string;
  loaded: LoadedConfig;
  readonly remarks: ConfigRemark[] = [];
  private readonly load: (text: string) => LoadedConfig;
  /** Paths and keys already handled: a rejected change is not tried again. */
  private readonly seen = new Set<string>();

  constructor(text: string, load: (text: string) => LoadedConfig) {
    this.text = text;
    this.load = load;
    this.loaded = load(text);
  }

  changeComponents(): void {
    for (let change = this.nextComponentChange(); change !== undefined; change = this.nextComponentChange()) {
      this.seen.add(change.path);
      this.tryChange(change, (after) => !isWorse(after, this.loaded));
    }
  }

  changeKeys(): void {
    for (let problem = this.nextOldKey(); problem !== undefined; problem = this.nextOldKey()) {
      this.seen.add(keyOf(problem));
      const change = this.keyChange(problem);
      if (change !== undefined) this.tryChange(change, (after) => isFixed(problem!, change.target, after));
      // A key that is unknown today is an error, and reported as one.
      else if (problem.severity === "warning") {
        this.remarks.push({ action: "left", path: problem.path, message: problem.message });
      }
    }
  }

  private nextComponentChange(): ConfigChange | undefined {
    const document = this.document();
    if (document === undefined) return undefined;
    return componentChanges(this.text, document, this.loaded).find(({ path }) => !this.seen.has(path));
  }

  private nextOldKey(): Problem | undefined {
    return this.loaded.problems.find((problem) => isOldKey(problem) && !this.seen.has(keyOf(problem)));
  }

  private keyChange(problem: Problem): (ConfigChange & { readonly target: string }) | undefined {
    const document = this.document();
    // A part of the config may come from another file.
    if (document === undefined || problem.place?.file !== this.loaded.tree?.source.name) return undefined;
    const found = pairAt(document, offsetOf(this.text, problem));
    if (found === undefined) return undefined;
    const key = String(found.pair.key.value);
    const rewrite = keyRewrite(key, problem.path);
    const edits = rewrite && moveKey(this.text, found.owner, found.pair, rewrite);
    if (rewrite === undefined || edits === undefined) return undefined;
    const name = rewrite.path.join(".");
    const target = problem.path.slice(0, problem.path.length - key.length) + name;
    return { action: "renamed", path: problem.path, message: `${key} is ${name}`, edits, target };
  }

  private tryChange({ edits, ...remark }: ConfigChange, isGood: (after: LoadedConfig) => boolean): void {
    const { action, path, message } = remark;
    if (edits.length === 0) {
      this.remarks.push({ action, path, message });
      return;
    }
    const text = applyEdits(this.text, edits);
    const after = this.load(text);
    if (!after.problems.some(isSyntaxError) && isGood(after)) {
      this.text = text;
      this.loaded = after;
      this.remarks.push({ action, path, message });
    } else
      this.remarks.push({ action: "left", path, message: `${message}; the config would be invalid with this change` });
  }

  private document(): Document.Parsed | undefined {
    return this.loaded.problems.some(isSyntaxError) ? undefined : firstDocument(this.text);
  }
}

function errorsOf({ problems }: LoadedConfig): Problem[] {
  return problems.filter(({ severity }) => severity === "error");
}

/** A dangling reference is worse than the problem that was fixed, so their number must not grow either. */
function isWorse(after: LoadedConfig, before: LoadedConfig): boolean {
  const lost = (loaded: LoadedConfig) => errorsOf(loaded).filter(({ code }) => code === "undefined_reference").length;
  return errorsOf(after).length > errorsOf(before).length || lost(after) > lost(before);
}

function isSyntaxError({ severity, code }: Problem): boolean {
  return severity === "error" && (code.startsWith("yaml_") || code === "duplicate_key");
}

/** True for problems about old keys: renamed or deprecated ones. */
function isOldKey({ code, suggestion }: Problem): boolean {
  return code === "deprecated_key" || (code === "unknown_key" && suggestion?.startsWith("it became") === true);
}

function keyOf({ code, path }: Problem): string {
  return `${code} ${path}`;
}

/** A key is fixed when its problem is gone, and there is no error at its new place. */
function isFixed(problem: Problem, target: string, after: LoadedConfig): boolean {
  return after.problems.every(
    (each) =>
      !(each.path === problem.path && each.code === problem.code) &&
      !(each.severity === "error" && (each.path === target || each.path.startsWith(`${target}.`))),
  );
}

function offsetOf(text: string, { place }: Problem): number {
  if (place === undefined) return -1;
  let start = 0;
  for (let line = 1; line < place.line; line++) start = text.indexOf("\n", start) + 1;
  return lineStart(text, start) + place.column - 1;
}

function pairAt(
  document: Document.Parsed,
  offset: number,
): { readonly owner: YAMLMap; readonly pair: TextPair } | undefined {
  let found: { owner: YAMLMap; pair: TextPair } | undefined;
  visit(document, {
    Map(_, owner) {
      const pair = owner.items.find(({ key }) => isScalar(key) && key.range?.[0] === offset);
      if (pair !== undefined) found = { owner, pair: pair as TextPair };
    },
  });
  return found;
}
