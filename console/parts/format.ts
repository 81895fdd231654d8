import type { Time } from "../api/shapes.js";

/** Milliseconds since 1970. */
export function toMs(time: Time): number {
  return typeof time === "number" ? time : Date.parse(time);
}

/** `2026-01-31 08:00:00` in the browser's time zone. */
export function clockText(time: Time): string {
  const date = new Date(toMs(time));
  if (Number.isNaN(date.getTime())) return String(time);
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `12 s`, `3 min`, `5 h`, `2 d`. */
export function durationText(ms: number): string {
  const units = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ] as const;
  const unit = units.find(([size]) => Math.abs(ms) >= size);
  return unit === undefined ? `${Math.round(ms)} ms` : `${Math.round(ms / unit[0])} ${unit[1]}`;
}

export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

const WHOLE = new Intl.NumberFormat("en-US");

export function countText(count: number): string {
  return WHOLE.format(count);
}

/** `1 entry`, `2 entries`, `3 records`. */
export function countOf(count: number, noun: string, nouns = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : nouns}`;
}

/** The share of failed sends of the last minute among those that were tried; a trend says nothing about none. */
export function failedSendsText(failureRate: number, calls: number, trend: string): string {
  if (calls === 0) return "nothing was sent in the last minute";
  const percent = failureRate * 100;
  const share = `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
  const direction = failureRate === 0 || trend === "steady" ? "" : `, ${trend}`;
  return `${share} of ${countOf(calls, "send")} in the last minute${direction}`;
}

/** `0`, `0.4`, `12`, `3.4k`, `1.2M`: short enough for an edge of the graph. */
export function rateText(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 9.95) return perSecond < 0.05 ? "<0.1" : perSecond.toFixed(1);
  if (perSecond < 1_000) return String(Math.round(perSecond));
  if (perSecond < 1_000_000) return `${trimmed(perSecond / 1_000)}k`;
  return `${trimmed(perSecond / 1_000_000)}M`;
}

function trimmed(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1);
}

/** An error's message without its class, which is shown before it. */
export function messageText({ class: name, message }: { readonly class: string; readonly message: string }): string {
  return message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;
}
