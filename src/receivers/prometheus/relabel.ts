import { createHash } from "node:crypto";
import type { Pattern } from "#text/patterns";

/** Labels by name. No value is empty, because an empty label counts as none. */
export type Labels = Map<string, string>;

export const RELABEL_ACTIONS = [
  "replace",
  "keep",
  "drop",
  "keepequal",
  "dropequal",
  "hashmod",
  "labelmap",
  "labeldrop",
  "labelkeep",
  "lowercase",
  "uppercase",
] as const;

/** One of `relabel_configs` with its compiled pattern, which must match the whole value. */
export interface RelabelRule {
  readonly action: (typeof RELABEL_ACTIONS)[number];
  readonly source_labels: readonly string[];
  readonly separator: string;
  readonly target_label: string;
  readonly regex: Pattern;
  readonly modulus: number;
  readonly replacement: string;
}

/** Applies all rules to the labels in turn. Returns false if the rules drop them. */
export function relabel(labels: Labels, rules: readonly RelabelRule[]): boolean {
  return rules.every((rule) => apply(labels, rule));
}

function apply(labels: Labels, rule: RelabelRule): boolean {
  const { action, regex, target_label: target } = rule;
  switch (action) {
    case "keep":
      return regex.test(sourceOf(labels, rule));
    case "drop":
      return !regex.test(sourceOf(labels, rule));
    case "keepequal":
      return (labels.get(target) ?? "") === sourceOf(labels, rule);
    case "dropequal":
      return (labels.get(target) ?? "") !== sourceOf(labels, rule);
    case "replace":
      replace(labels, rule);
      return true;
    case "lowercase":
      return set(labels, target, sourceOf(labels, rule).toLowerCase());
    case "uppercase":
      return set(labels, target, sourceOf(labels, rule).toUpperCase());
    case "hashmod":
      return set(labels, target, String(hashMod(sourceOf(labels, rule), rule.modulus)));
    case "labelmap":
      for (const [name, value] of [...labels]) {
        if (regex.test(name)) set(labels, regex.replaceAll(name, rule.replacement), value);
      }
      return true;
    case "labeldrop":
    case "labelkeep":
      for (const name of [...labels.keys()]) if (regex.test(name) === (action === "labeldrop")) labels.delete(name);
      return true;
  }
}

function replace(labels: Labels, rule: RelabelRule): void {
  const source = sourceOf(labels, rule);
  if (!rule.regex.test(source)) return;
  const target = rule.target_label.includes("$") ? rule.regex.replaceAll(source, rule.target_label) : rule.target_label;
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(target)) return;
  set(
    labels,
    target,
    rule.replacement.includes("$") ? rule.regex.replaceAll(source, rule.replacement) : rule.replacement,
  );
}

function sourceOf(labels: Labels, { source_labels: names, separator }: RelabelRule): string {
  if (names.length === 1) return labels.get(names[0]!) ?? "";
  return names.map((name) => labels.get(name) ?? "").join(separator);
}

function set(labels: Labels, name: string, value: string): true {
  if (value === "") labels.delete(name);
  else labels.set(name, value);
  return true;
}

/** As in Prometheus's sharding: the last eight bytes of the MD5 sum as one number. */
function hashMod(text: string, modulus: number): bigint {
  return createHash("md5").update(text).digest().readBigUInt64BE(8) % BigInt(modulus);
}
