import type { Worker } from "../../api/shapes.js";
import { useLoad } from "../../api/use-load.js";
import { Ago, Badge, Load, type Tone } from "../../parts/bits.js";
import { countText } from "../../parts/format.js";
import { Text } from "../../parts/text.js";

const EVERY_MS = 5_000;
const TONES: Readonly<Record<Worker["state"], Tone>> = {
  ready: "good",
  starting: "warn",
  draining: "warn",
  down: "bad",
};

/** The processes of an agent with `service.workers`; nothing if it is a single process. */
export function Workers() {
  const loaded = useLoad<{ workers: readonly Worker[] }>("/workers", EVERY_MS);
  if (loaded.data?.workers.length === 0) return null;
  return (
    <>
      <h1>Workers</h1>
      <Load of={loaded} part="Workers">
        {({ workers }) => (
          <table>
            <thead>
              <tr>
                <th>Worker</th>
                <th>State</th>
                <th>Since</th>
                <th>Process</th>
                <th class="number">Restarts</th>
                <th>Last end</th>
              </tr>
            </thead>
            <tbody>
              {workers.map((each) => (
                <WorkerRow key={each.worker} worker={each} />
              ))}
            </tbody>
          </table>
        )}
      </Load>
    </>
  );
}

function WorkerRow({ worker: { worker, pid, state, since, restarts, lastExit } }: { worker: Worker }) {
  return (
    <tr aria-label={`worker ${worker}`}>
      <td data-label="Worker">{worker}</td>
      <td data-label="State">
        <Badge tone={TONES[state]}>{state}</Badge>
      </td>
      <td data-label="Since">
        <Ago at={since} />
      </td>
      <td data-label="Process">{pid ?? "none"}</td>
      <td data-label="Restarts" class="number">
        {countText(restarts)}
      </td>
      <td data-label="Last end">
        {lastExit === undefined ? (
          <span class="dim">never</span>
        ) : (
          <>
            <Text value={lastExit.reason} inline max={120} /> <Ago at={lastExit.at} />
          </>
        )}
      </td>
    </tr>
  );
}
