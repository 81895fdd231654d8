import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { countText, durationText, rateText } from "./format.js";
import { speedOf, timeLeft, type WorkReading, withReading } from "./time-left.js";

interface WorkProgressProps {
  /** Names the work, for example "Dry run". */
  readonly label: string;
  readonly done: number;
  /** 0 if it is not known yet. */
  readonly total: number;
  /** False while the work stands still, so that no time is predicted. */
  readonly isMoving?: boolean;
  /** A button to cancel, for example. */
  readonly children?: ComponentChildren;
}

/** A bar for work that takes long: how much is done, how fast, and how long the rest takes at this speed. */
export function WorkProgress({ label, done, total, isMoving = true, children }: WorkProgressProps) {
  const [readings, setReadings] = useState<readonly WorkReading[]>([]);
  useEffect(() => setReadings((before) => withReading(before, { at: Date.now(), done })), [done]);
  return (
    <div class="work">
      <progress {...(total > 0 && { value: Math.min(done, total) })} max={Math.max(total, 1)} aria-label={label} />
      <p class="toolbar">
        <span role="status">
          {total > 0 ? `${countText(done)} of ${countText(total)}` : done > 0 ? countText(done) : "Counting…"}
          {isMoving && <span class="dim">{paceText(readings, total)}</span>}
        </span>
        <span class="spacer" />
        {children}
      </p>
    </div>
  );
}

function paceText(readings: readonly WorkReading[], total: number): string {
  const speed = speedOf(readings);
  if (speed === undefined || speed === 0) return "";
  const left = total === 0 ? undefined : timeLeft(readings, total);
  return ` · ${rateText(speed)}/s${left ? ` · about ${durationText(Math.max(left, 1000))} left` : ""}`;
}
