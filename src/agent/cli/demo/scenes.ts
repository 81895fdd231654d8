import type { DemoBackend } from "./backend.js";
import type { DemoShop } from "./shop.js";

/** The counts that scenes wait for and that are shown. */
export interface DemoCounts {
  /** Orders that the agent has acknowledged. */
  readonly acknowledged: number;
  readonly delivered: number;
  /** Orders in the queue. */
  readonly waiting: number;
  readonly deadLetters: number;
  readonly breaker: "closed" | "open" | "half_open";
}

/** A page of the console and commands that show the current state. */
export interface Look {
  /** Name of a console page; `hash` is the part of its address after `#`. */
  readonly page: string;
  readonly hash: string;
  /** Commands that show the same; `ID` stands for a dead letter. */
  readonly commands: readonly string[];
}

/** One step of the demo: its action, the condition that ends it, and what the user can look at afterwards. */
export interface Scene {
  readonly name: "well" | "outage" | "recovery" | "poison" | "replay";
  readonly title: string;
  /** Shown when the scene begins. */
  readonly story: readonly string[];
  begin(parts: { readonly backend: DemoBackend; readonly shop: DemoShop }): void;
  isReached(counts: DemoCounts): boolean;
  /** Shown when the scene's condition is reached. */
  readonly lesson: readonly string[];
  readonly look: Look;
}

/** Enough orders to make a difference visible. */
const ENOUGH_ORDERS = 12;

export const SCENES: readonly Scene[] = [
  {
    name: "well",
    title: "Everything works",
    story: ["A shop sends 20 orders a second to the agent, and the agent to a backend."],
    begin: () => {},
    isReached: ({ delivered, waiting }) => delivered >= ENOUGH_ORDERS && waiting <= ENOUGH_ORDERS,
    lesson: ["Orders arrive at the backend at once."],
    look: { page: "Pipelines", hash: "#/pipelines", commands: ["sluice top"] },
  },
  {
    name: "outage",
    title: "The backend is down",
    story: [
      "It answers every request with 503. The shop does not notice: the agent writes",
      "each order to disk before it acknowledges it.",
    ],
    begin: ({ backend }) => {
      backend.mood = "down";
    },
    isReached: ({ breaker, waiting }) => breaker !== "closed" && waiting >= ENOUGH_ORDERS,
    lesson: [
      "The circuit breaker has opened: the agent tries the backend only now and then.",
      "The queue grows. No order is lost.",
    ],
    look: { page: "Exporters", hash: "#/exporters", commands: ["sluice status"] },
  },
  {
    name: "recovery",
    title: "The backend is back",
    story: ["The next attempt succeeds, the breaker closes, and the agent sends the queue."],
    begin: ({ backend }) => {
      backend.mood = "well";
    },
    isReached: ({ breaker, waiting }) => breaker === "closed" && waiting === 0,
    lesson: ["Every order in the queue was delivered. You did not have to do anything."],
    look: { page: "Exporters", hash: "#/exporters", commands: ["sluice status"] },
  },
  {
    name: "poison",
    title: "A new release of the shop writes some totals as text",
    story: ['The backend expects numbers and answers 400. Sending "12,50 EUR" again would', "not help."],
    begin: ({ shop }) => {
      shop.hasBadRelease = true;
    },
    isReached: ({ deadLetters }) => deadLetters >= 3,
    lesson: [
      "Good orders in the same requests were delivered. Each bad order became a dead",
      "letter: the agent keeps it with its error and every attempt, grouped by cause.",
      "Look at one: which attribute did the backend refuse? Personal data is masked.",
    ],
    look: {
      page: "Failures",
      hash: "#/failures",
      commands: ["sluice dlq stats", "sluice dlq show ID --payload"],
    },
  },
  {
    name: "replay",
    title: "The cause is fixed: replay",
    story: [
      "The shop is rolled back, and the backend now accepts such totals. Replay the",
      "dead letters: in the console (Replay…), with the command below, or here.",
    ],
    begin: ({ backend, shop }) => {
      backend.mood = "fixed";
      shop.hasBadRelease = false;
    },
    isReached: ({ deadLetters, waiting }) => deadLetters === 0 && waiting === 0,
    lesson: ["All of them are delivered. The console pages Replay and Audit show who did", "it, and when."],
    look: { page: "Failures", hash: "#/failures", commands: ["sluice dlq replay --all --wait"] },
  },
];
