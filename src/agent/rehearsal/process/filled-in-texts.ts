import type { Node } from "#config/text";
import type { RehearsalReport } from "#contract/rehearsal";

/** Shorter texts are no secrets, and occur in records by chance. */
const MIN_LENGTH = 6;
const HIDDEN = "****";

/**
 * The texts that variables and files have filled in while a config was loaded. Processors can write them into records,
 * and readers of a report may not see the agent's secrets, so a report shows none of them.
 */
export class FilledInTexts {
  private readonly texts = new Set<string>();

  /** Returns the same environment. Variables that are read from it are remembered. */
  watchEnvironment<Env extends Readonly<Record<string, string | undefined>>>(env: Env): Env {
    return new Proxy(env, {
      get: (target, name: string) => {
        const value = target[name];
        if (typeof value === "string") this.add(value);
        return value;
      },
    });
  }

  /** The content of files is remembered, except that of `configs` themselves. */
  watchFiles(readFile: (path: string) => string, configs: readonly string[]): (path: string) => string {
    const known = new Set(configs.map((name) => name.replace(/^file:/, "")));
    return (path) => {
      const text = readFile(path);
      if (!known.has(path)) this.add(text);
      return text;
    };
  }

  /** Remembers the values of a config that came from a variable or a file, in whole or in part. */
  addValues(node: Node | undefined): void {
    if (node?.kind === "scalar") {
      if (node.substituted) this.add(node.text);
    } else if (node?.kind === "list") for (const item of node.items) this.addValues(item);
    else for (const { value } of node?.entries.values() ?? []) this.addValues(value);
  }

  /** Returns a report without these texts. */
  hideIn(report: RehearsalReport): RehearsalReport {
    const longestFirst = [...this.texts].toSorted((a, b) => b.length - a.length);
    const hide = (text: string) => longestFirst.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text);
    const hideValues = <T extends object>(values: T): T =>
      Object.fromEntries(Object.entries(values).map(([key, value]) => [hide(key), hide(String(value))])) as T;
    return {
      ...report,
      fields: report.fields.map((each) => ({
        ...each,
        field: hide(each.field),
        examples: each.examples.map(({ before, after }) => ({
          ...(before !== undefined && { before: hide(before) }),
          ...(after !== undefined && { after: hide(after) }),
        })),
      })),
      examples: report.examples.map((each) => ({ ...each, fields: hideValues(each.fields) })),
      errors: report.errors.map((each) => ({ ...each, message: hide(each.message) })),
    };
  }

  private add(text: string): void {
    const trimmed = text.trim();
    if (trimmed.length >= MIN_LENGTH) this.texts.add(trimmed);
  }
}
