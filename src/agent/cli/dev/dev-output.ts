import type { Clock } from "#contract";
import { painter } from "#text";
import { cutLine } from "../print/fit-line.js";
import type { Region } from "../print/region.js";
import { pluralize } from "../print/text.js";
import type { Terminal } from "../terminal.js";
import { type DevState, devView } from "./dev-view.js";

/** Where `sluice dev` writes. */
export interface DevOutput {
  /** A record, on one line. */
  record(line: string): void;
  /** A line of the agent's log or output. */
  log(line: string): void;
  /** Something that happened: `reloaded: replace processor a`. */
  event(text: string): void;
  /** Records that passed and were not shown. */
  missed(records: number): void;
  /** Shows the state; called after each change. */
  show(state: DevState): void;
  close(): void;
}

/** How often the terminal is written to at most, in milliseconds, and how many lines may wait for it. */
const FLUSH_MS = 50;
const MAX_WAITING = 200;

/** Lines that scroll, above a region with the state. Lines that come faster than people can read are counted. */
export class RegionOutput implements DevOutput {
  private readonly region: Region;
  private readonly colour: boolean;
  private readonly clock: Clock;
  private waiting: string[] = [];
  private skipped = 0;
  private state: DevState | undefined;
  private cancelFlush: (() => void) | undefined;

  constructor(region: Region, colour: boolean, clock: Clock) {
    this.region = region;
    this.colour = colour;
    this.clock = clock;
  }

  record(line: string): void {
    this.add(cutLine(line, this.region.columns));
  }

  log(line: string): void {
    this.add(line);
  }

  event(text: string): void {
    const paint = painter(this.colour);
    this.add(`${paint("dim", new Date(this.clock.now()).toTimeString().slice(0, 8))}  ${paint("cyan", text)}`);
  }

  missed(records: number): void {
    this.add(painter(this.colour)("dim", `          ${missedText(records)}`));
  }

  show(state: DevState): void {
    this.state = state;
    this.schedule();
  }

  /** Shows what waits, and the problems that are left: the region goes away. */
  close(): void {
    this.cancelFlush?.();
    if (this.state !== undefined && this.state.problems.length > 0) this.waiting.push(...this.state.problems);
    this.region.print(this.waiting);
    this.region.close();
  }

  private add(line: string): void {
    if (this.waiting.length >= MAX_WAITING) this.skipped += 1;
    else this.waiting.push(line);
    this.schedule();
  }

  private schedule(): void {
    this.cancelFlush ??= this.clock.after(FLUSH_MS, () => {
      this.cancelFlush = undefined;
      this.flush();
    });
  }

  private flush(): void {
    const { region, colour } = this;
    if (region.isBusy) return this.schedule();
    if (this.skipped > 0) {
      this.waiting.push(painter(colour)("dim", `          ${pluralize(this.skipped, "line")} not shown`));
      this.skipped = 0;
    }
    if (this.waiting.length > 0) region.print(this.waiting);
    this.waiting = [];
    if (this.state !== undefined)
      region.draw(devView(this.state, { columns: region.columns, rows: region.rows, colour }));
  }
}

/** Plain lines: records to stdout, everything else to stderr. The agent writes its log itself. */
export class LineOutput implements DevOutput {
  private readonly terminal: Terminal;
  private readonly onClosed: () => void;
  private problems = "";
  private isBlocked = false;

  /** `onClosed` is called when the reader of stdout has gone. */
  constructor(terminal: Terminal, onClosed: () => void) {
    this.terminal = terminal;
    this.onClosed = onClosed;
  }

  /** Records are left out while the reader is slow. */
  record(line: string): void {
    if (this.isBlocked) return;
    const { out } = this.terminal;
    out.write(`${line}\n`);
    this.isBlocked = true;
    void (out.drained?.() ?? Promise.resolve(true)).then((isOpen) => {
      this.isBlocked = false;
      if (!isOpen) this.onClosed();
    });
  }

  log(line: string): void {
    this.terminal.err.write(`${line}\n`);
  }

  event(text: string): void {
    this.log(`sluice dev: ${text}`);
  }

  missed(records: number): void {
    this.event(missedText(records));
  }

  show({ problems }: DevState): void {
    const text = problems.join("\n");
    if (text === this.problems) return;
    this.problems = text;
    if (text === "") this.event("the problems are fixed");
    else this.log(text);
  }

  close(): void {}
}

function missedText(records: number): string {
  return `${pluralize(records, "record")} passed and ${records === 1 ? "was" : "were"} not shown`;
}
