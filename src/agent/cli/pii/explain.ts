import process from "node:process";
import { text as textOf } from "node:stream/consumers";
import { painter, printable } from "#text";
import type { PiiConfig } from "../../../processors/pii/config.js";
import type { ExplainedCandidate, PiiExplanation } from "../../../processors/pii/explain.js";
import { positionalArguments, printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { showProblems } from "../show-problems.js";
import { EXIT, type Output, UsageError } from "../terminal.js";

/** `sluice pii explain` */
export async function explain(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const texts = positionalArguments(context);
  if (texts.length > 1) throw new UsageError("expected one text", "put it in quotes");
  const settings = await settingsOf(context);
  if (settings === undefined) return EXIT.failed;
  const text = texts[0] ?? (await textOf(process.stdin)).replace(/\r?\n$/, "");
  const { explainText } = await import("../../../processors/pii/explain.js");
  const explanation = explainText(settings, text, values["key"] as string | undefined);
  if (values["json"] === true) printJson(context, explanation);
  else terminal.out.write(`${describe(explanation, settings, terminal.out).join("\n")}\n`);
  return EXIT.ok;
}

/** Returns the settings of the config's processor, or the defaults; undefined if the config has problems. */
async function settingsOf(context: CommandContext): Promise<PiiConfig | undefined> {
  const { values, terminal } = context;
  const { piiSchema } = await import("../../../processors/pii/config.js");
  const given = Object.fromEntries(
    ["confidence", "profile"].flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  );
  const parsed = piiSchema.safeParse(given);
  if (!parsed.success)
    throw new UsageError(parsed.error.issues.map(({ path, message }) => `--${String(path[0])}: ${message}`).join("; "));
  if (values["config"] === undefined) return parsed.data;
  const { config, problems, lineAt } = await loadFromArguments(context);
  showProblems(problems, lineAt, terminal.err);
  if (config === undefined) return undefined;
  const found = [...config.processors].filter(([, { factory }]) => factory.type === "pii");
  const [id] = found.length === 1 ? found[0]! : [values["processor"]];
  const chosen = found.find(([each]) => each === (values["processor"] ?? id));
  if (chosen === undefined)
    throw new UsageError(
      "the config has no such processor `pii`, or has several",
      `name one with --processor: ${found.map(([each]) => each).join(", ")}`,
    );
  const settings = chosen[1].config as PiiConfig;
  return values["confidence"] === undefined ? settings : { ...settings, confidence: parsed.data.confidence };
}

function describe(explanation: PiiExplanation, settings: PiiConfig, { colour }: Output): string[] {
  const { threshold, candidates, rule, treated } = explanation;
  const paint = painter(colour);
  const lines = [`threshold: ${threshold} (confidence: ${settings.confidence ?? "medium"})`];
  if (rule !== undefined)
    lines.push(
      `rule: ${rule.strategy}, because of ${rule.decidedBy === "field" ? "the config's fields" : "the key, which names a secret"}`,
    );
  if (candidates.length === 0) lines.push("", "no candidates");
  for (const one of candidates) lines.push("", ...describeCandidate(one, threshold, paint));
  return [...lines, "", `treated: ${printable(treated)}`];
}

function describeCandidate(one: ExplainedCandidate, threshold: number, paint: ReturnType<typeof painter>): string[] {
  const verdict = one.isFound ? paint("green", "treated") : paint("dim", "left");
  const place = one.start === undefined ? "in encoded text" : `at ${one.start}-${one.end}`;
  return [
    `${verdict}: ${one.detector} ${printable(JSON.stringify(one.text))} ${place}, score ${one.score} of ${threshold}`,
    ...one.reasons.map(
      ({ name, points, description }) =>
        `  ${(points > 0 ? `+${points}` : String(points)).padStart(4)}  ${name}: ${description}`,
    ),
  ];
}
