import { type Paint, painter } from "#text";
import type { Output } from "../terminal.js";
import { type DemoCounts, type Look, SCENES, type Scene } from "./scenes.js";

/** Where the demo can be looked at and what it leaves behind until it ends. */
export interface DemoPlaces {
  readonly origin: string;
  /** The console with what it takes to be let in. */
  readonly console: string;
  readonly folder: string;
  readonly isOpened: boolean;
  /** What commands need to find the agent; empty when they find it by themselves. */
  readonly apiOption: string;
}

/** How the demo ended; `lost` are orders that were acknowledged, and are neither delivered nor kept. */
export interface DemoEnd extends DemoCounts {
  readonly isComplete: boolean;
  readonly duplicates: number;
  readonly lost: number;
}

/** Tells whoever is there how the demo goes. */
export interface Guide {
  begin(places: DemoPlaces): void;
  scene(scene: Scene): void;
  /** Told again and again. */
  counts(counts: DemoCounts, keys: string): void;
  reached(scene: Scene, counts: DemoCounts): void;
  look(look: Look, deadLetter: string | undefined): void;
  end(end: DemoEnd): void;
}

/** A line of JSON for each thing that happens. */
export function jsonGuide(out: Output): Guide {
  const print = (event: string, facts: object) => out.write(`${JSON.stringify({ event, ...facts })}\n`);
  return {
    begin: (places) => print("started", places),
    scene: ({ name, title }) => print("scene", { scene: name, title }),
    counts: () => {},
    reached: ({ name }, counts) => print("reached", { scene: name, ...counts }),
    look: () => {},
    end: (end) => print("ended", end),
  };
}

/** Text, and on a terminal a last line that counts. */
export function textGuide(out: Output): Guide {
  const paint = painter(out.colour);
  let places: DemoPlaces;
  let hasCounts = false;
  const print = (...lines: readonly string[]) => {
    out.write(`${hasCounts ? CLEAR_LINE : ""}${lines.map((line) => `${line}\n`).join("")}`);
    hasCounts = false;
  };
  return {
    begin(found) {
      places = found;
      print(...introduction(found, paint));
    },
    scene(scene) {
      const number = `${SCENES.indexOf(scene) + 1} of ${SCENES.length}`;
      print("", `${paint("cyan", number)}  ${paint("bold", scene.title)}`, ...scene.story.map(indent));
    },
    counts(counts, keys) {
      if (!out.isTerminal) return;
      const plain = `  ${countsText(counts)}`;
      const line = `  ${countsText(counts, paint)}`;
      const hint = plain.length + keys.length + 3 <= (out.columns ?? 80) ? `   ${paint("dim", keys)}` : "";
      out.write(`${CLEAR_LINE}${line}${hint}`);
      hasCounts = true;
    },
    reached(scene, counts) {
      print(...(out.isTerminal ? [] : [`  ${countsText(counts)}`]), ...lessonLines(scene, paint));
    },
    look({ page, hash, commands }, deadLetter) {
      const shown = commands.map((command) => command.replace("ID", deadLetter ?? "ID") + places.apiOption);
      print(
        `  ${paint("dim", "console ")}  ${page}: ${places.origin}/${hash}`,
        ...shown.map((command, i) => `  ${paint("dim", i === 0 ? "terminal" : "        ")}  ${command}`),
      );
    },
    end: (end) => print("", ...ending(end, places, paint)),
  };
}

const CLEAR_LINE = "\r\u001b[K";
const indent = (line: string) => `  ${line}`;

function lessonLines({ lesson }: Scene, paint: Paint): string[] {
  return lesson.map((line, i) => `${i === 0 ? `${paint("green", "✓")} ` : "  "}${line}`);
}

function introduction({ console, folder, isOpened }: DemoPlaces, paint: Paint): string[] {
  return [
    paint("bold", "Sluice demo"),
    "",
    "  shop  --OTLP-->  agent, with its queue on disk  --OTLP-->  backend, which fails",
    "",
    "  All of it is in this process, and its files are in",
    `  ${folder}. Both go away when you end it (q or Ctrl-C).`,
    "",
    `  Console${isOpened ? " (opened in your browser)" : ""}: ${paint("cyan", console)}`,
  ];
}

function countsText(counts: DemoCounts, paint: Paint = (_, text) => text): string {
  const { acknowledged, delivered, waiting, deadLetters, breaker } = counts;
  const if_ = (isBad: boolean, text: string) => (isBad ? paint("yellow", text) : text);
  return [
    `acknowledged ${acknowledged}`,
    `delivered ${delivered}`,
    if_(breaker !== "closed", `waiting ${waiting}`),
    if_(deadLetters > 0, `dead letters ${deadLetters}`),
    if_(breaker !== "closed", `breaker ${breaker.replace("_", " ")}`),
  ].join("  ");
}

function ending(
  { isComplete, acknowledged, delivered, lost, duplicates, ...rest }: DemoEnd,
  places: DemoPlaces,
  paint: Paint,
): string[] {
  const removed = `Everything is stopped, and ${places.folder} is removed.`;
  if (!isComplete) {
    const left = rest.waiting + rest.deadLetters;
    const thrownAway = left > 0 ? ` ${left} that were not delivered yet went with it.` : "";
    return [`Ended early: ${delivered} of ${acknowledged} orders were delivered.`, `${removed}${thrownAway}`];
  }
  const verdict = `${delivered} of ${acknowledged} acknowledged orders delivered, ${lost} lost, ${duplicates} twice.`;
  return [
    paint(lost === 0 ? "green" : "red", verdict),
    removed,
    "",
    "Next:",
    "  sluice init      writes a config to start from",
    "  docs/runbook.md  what to do when something fails, alert by alert",
  ];
}
