import { query } from "../../api/client.js";
import type { History } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { bytesText, durationText } from "../../parts/format.js";
import { Sparkline } from "../../parts/sparkline.js";

const EVERY_MS = 10_000;

/** The size of the queue in up to 15 minutes, if the agent records it. */
export function QueueHistory({ exporter, bytes }: { exporter: string; bytes: number }) {
  const { data } = useLoad<History>(`/history${query({ node: `exporter:${exporter}` })}`, EVERY_MS);
  const values = data?.series["queueBytes"];
  if (values === undefined || values.length < 2) return null;
  const span = durationText(values.length * data!.stepMs);
  const max = Math.max(...values.map((value) => value ?? 0), bytes);
  return (
    <span class="history">
      <Sparkline values={values} label={`bytes in the queue in the last ${span}, at most ${bytesText(max)}`} />
      <small>
        last {span}, at most {bytesText(max)}
      </small>
    </span>
  );
}
