import { type Paint, painter } from "#text";
import type { Output } from "../terminal.js";
import { type DemoCounts, type Look, SCENES, type Scene } from "./scenes.js";

/** Addresses and folders of a running demo. */
interface DemoPlaces {
  readonly origin: string;
  /** Address of the console, with the token in it. */
  readonly console: string;
  readonly folder: string;
  readonly isOpened: boolean;
  /** The --api option that commands need to find the agent; empty when they find it without. */
  readonly apiOption: string;
}

/** The result of the demo. `lost` counts orders that were acknowledged, but are neither delivered nor dead letters. */
export interface DemoEnd extends DemoCounts {
  readonly isComplete: boolean;
  readonly duplicates: number;
  readonly lost: number;
}

/** Reports the progress of the demo. */
export interface Guide {
  begin(places: DemoPlaces): void;
  scene(scene: Scene): void;
  /** Called many times, with the current counts. */
  counts(counts: DemoCounts): void;
  /** Says which keys the demo waits for. */
  prompt(keys: string): void;
  reached(scene: Scene, counts: DemoCounts): void;
  look(look: Look, deadLetter: string | undefined): void;
  end(end: DemoEnd): void;
}

/** Prints one line of JSON per event. */
export function jsonGuide(out: Output): Guide {
  const print = (event: string, facts: object) => out.write(`${JSON.stringify({ event, ...facts })}\n`);
  return {
    begin: (places) => print("started", places),
    scene: ({ name, title }) => print("scene", { scene: name, title }),
    counts: () => {},
    prompt: () => {},
    reached: ({ name }, counts) => print("reached", { scene: name, ...counts }),
    look: () => {},
    end: (end) => print("ended", end),
  };
}

/** Prints text, and on a terminal a last line with the current counts. */
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
    counts(counts) {
      if (!out.isTerminal) return;
      out.write(`${CLEAR_LINE}  ${countsText(counts, paint)}`);
      hasCounts = true;
    },
    prompt: (keys) => print("", `  ${paint("bold", keys)}`, ""),
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
    "  shop  --OTLP-->  agent with a queue on disk  --OTLP-->  backend that fails",
    "",
    "  Everything runs in this process. Its files are in",
    `  ${folder}. They are deleted when you quit (q or Ctrl-C).`,
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
  const removed = `The demo has stopped and deleted ${places.folder}.`;
  if (!isComplete) {
    const left = rest.waiting + rest.deadLetters;
    const undelivered = left > 0 ? [`${left} orders in it were not delivered.`] : [];
    return [`Ended early: ${delivered} of ${acknowledged} orders were delivered.`, removed, ...undelivered];
  }
  const verdict = `${delivered} of ${acknowledged} acknowledged orders delivered, ${lost} lost, ${duplicates} twice.`;
  return [
    paint(lost === 0 ? "green" : "red", verdict),
    removed,
    "",
    "Next:",
    "  sluice init      writes a config to start from",
    "  docs/operate/runbook.md  what to do when something fails, alert by alert",
  ];
}
