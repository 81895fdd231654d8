import { setTimeout as delay } from "node:timers/promises";
import { Dice } from "../support/telemetry/wire-forms.js";
import { type Clients, startClients } from "./client.js";
import { BAD_MOODS, type FaultySink } from "./faulty-sink.js";
import { maxCampaignMs } from "./long-form.js";
import type { RecordBook, Verdict } from "./record-book.js";
import type { Victim } from "./victim.js";

/**
 * Load on an agent that is killed and started again at random moments, on a backend that has its moods, until so many
 * kills have happened; then everything is well again, and what is still in the queue may arrive.
 *
 * A seed decides the schedule. It does not decide how the operating system runs it.
 */
export interface CampaignSettings {
  readonly seed: number;
  readonly kills: number;
  readonly victim: Victim;
  readonly book: CampaignBook;
  readonly sink: FaultySink;
  readonly resendUnanswered?: boolean;
  /** The clients; without, those that send log records. */
  readonly startLoad?: (port: () => number | undefined) => Clients;
  /** How many times longer the agent lives than usual. */
  readonly stretch?: number;
  /** How many records are to be acknowledged in every life that has load, however slow the agent is with them, and in the end. */
  readonly load?: number;
  /** Records that may stay away: the backend refuses them for good. */
  readonly isBad?: (number: number) => boolean;
  /** How long the last records may take. */
  readonly patienceMs?: number;
  readonly say?: (line: string) => void;
}

/** The part of a book that a campaign needs. */
export interface CampaignBook {
  readonly acknowledgedCount: number;
  missing(): readonly number[];
}

export interface CampaignReport {
  readonly seed: number;
  readonly kills: number;
  readonly stops: number;
  readonly refusals: number;
  /** How often each kind of moment was chosen. */
  readonly moments: Readonly<Record<string, number>>;
  readonly seconds: number;
}

type Moment = (campaign: Campaign) => Promise<void>;

class CampaignDice extends Dice {
  stretch = 1;

  async wait(upToMs: number): Promise<void> {
    await delay(this.upTo(upToMs) * this.stretch);
  }
}

interface Campaign {
  readonly victim: Victim;
  readonly sink: FaultySink;
  readonly dice: CampaignDice;
  /** Resolves when this life has had its load, or will not have it. */
  readonly loaded: () => Promise<void>;
}

const MOMENTS: Readonly<Record<string, Moment>> = {
  starting: async ({ victim, dice }) => {
    victim.spawn();
    await dice.wait(300);
    await victim.end("SIGKILL");
  },
  "just ready": async ({ victim, dice }) => {
    await victim.start();
    await dice.wait(10);
    await victim.end("SIGKILL");
  },
  "under load": async ({ victim, dice, loaded }) => {
    await victim.start();
    await loaded();
    await dice.wait(200);
    await victim.end("SIGKILL");
  },
  "backend fails": async ({ victim, sink, dice, loaded }) => {
    await victim.start();
    await loaded();
    await dice.wait(50);
    sink.mood = moodOf(dice);
    await dice.wait(200);
    await victim.end("SIGKILL");
  },
  "backend returns": async ({ victim, sink, dice, loaded }) => {
    sink.mood = moodOf(dice);
    await victim.start();
    await loaded();
    await dice.wait(150);
    sink.mood = "ok";
    await dice.wait(150);
    await victim.end("SIGKILL");
  },
  stopping: async ({ victim, sink, dice, loaded }) => {
    if (dice.upTo(1) > 0) sink.mood = moodOf(dice);
    await victim.start();
    await loaded();
    await dice.wait(100);
    victim.signal("SIGTERM");
    await dice.wait(60);
    await victim.end("SIGKILL");
  },
  "stopped in peace": async ({ victim, sink, dice, loaded }) => {
    if (dice.upTo(2) === 0) sink.mood = moodOf(dice);
    await victim.start();
    await loaded();
    await dice.wait(100);
    await victim.end("SIGTERM");
  },
};
/** A stop is not a kill; it happens in between. */
const STOP = "stopped in peace";
const SILENCE_MS = 300;
const WAIT_MS = 50;
const MAX_WAITS = 2400;
/** Twenty seconds: the backend or the server may not let it have its load. */
const LIFE_WAITS = 400;

/** A campaign with clients that send log records. */
export async function runCampaign(
  settings: CampaignSettings & { readonly book: RecordBook },
): Promise<CampaignReport & Verdict> {
  const { book, seed, resendUnanswered = true } = settings;
  const startLogClients = (port: () => number | undefined) =>
    startClients({ book, dice: new Dice(seed + 1), port, clients: 8, maxRecords: 20, resendUnanswered });
  const report = await runCampaignOf({ startLoad: startLogClients, ...settings });
  return { ...report, ...book.verdict() };
}

export async function runCampaignOf(
  settings: CampaignSettings & Required<Pick<CampaignSettings, "startLoad">>,
): Promise<CampaignReport> {
  const { victim, book, sink, seed, startLoad, say = () => {} } = settings;
  const started = performance.now();
  const dice = new CampaignDice(seed);
  dice.stretch = settings.stretch ?? 1;
  const clients = startLoad(() => victim.port);
  /** Resolves when so many more are acknowledged, or after so many waits. */
  async function acknowledged(more: number, maxWaits: number): Promise<void> {
    const wanted = book.acknowledgedCount + more;
    for (let waits = 0; waits < maxWaits && book.acknowledgedCount < wanted; waits++) await delay(WAIT_MS);
  }
  const moments: Record<string, number> = {};
  let kills = 0;
  try {
    while (kills < settings.kills && performance.now() - started < maxCampaignMs) {
      const name = Object.keys(MOMENTS)[dice.upTo(Object.keys(MOMENTS).length - 1)]!;
      await MOMENTS[name]!({ victim, sink, dice, loaded: () => acknowledged(settings.load ?? 0, LIFE_WAITS) });
      moments[name] = (moments[name] ?? 0) + 1;
      if (name !== STOP) kills++;
      if (dice.upTo(1) > 0) sink.mood = "ok";
      say(`seed ${seed}: ${kills} of ${settings.kills} kills, ${book.acknowledgedCount} records acknowledged`);
    }
    sink.mood = "ok";
    await victim.start();
    await delay(WAIT_MS);
    // A busy machine may have acknowledged nothing between two kills; then there would be nothing to miss.
    await acknowledged(settings.load ?? (book.acknowledgedCount === 0 ? 1 : 0), MAX_WAITS);
  } finally {
    await clients.stop();
  }
  await everythingArrived(settings);
  const stops = moments[STOP] ?? 0;
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  return { seed, kills, stops, refusals: clients.refusals, moments, seconds };
}

/** Until nothing acknowledged is missing (or it takes too long), and until the backend hears no more. */
async function everythingArrived(settings: CampaignSettings): Promise<void> {
  const { book, sink, patienceMs = 60_000, isBad = () => false } = settings;
  const deadline = performance.now() + patienceMs;
  while (book.missing().some((number) => !isBad(number)) && performance.now() < deadline) await delay(20);
  for (let heard = -1; heard !== sink.requests; await delay(SILENCE_MS)) heard = sink.requests;
}

function moodOf(dice: Dice): FaultySink["mood"] {
  return BAD_MOODS[dice.upTo(BAD_MOODS.length - 1)]!;
}
