import { useState } from "preact/hooks";
import { post } from "../../api/client.js";
import { ErrorText } from "../../parts/bits.js";
import { Choice } from "../../parts/choice.js";

const DURATIONS = [
  ["10", "10 seconds"],
  ["60", "1 minute"],
  ["300", "5 minutes"],
  ["1800", "30 minutes"],
] as const;

const SHARES = [
  ["0.01", "1 %"],
  ["0.1", "10 %"],
  ["0.5", "50 %"],
  ["1", "100 %"],
] as const;

/** Starts a rehearsal. */
export function RehearsalForm({ onStarted }: { onStarted: () => void }) {
  const [seconds, setSeconds] = useState("60");
  const [share, setShare] = useState("0.1");
  const [conditions, setConditions] = useState("");
  const [error, setError] = useState<string>();
  const start = async () => {
    try {
      const failOn = conditions.split(",").map((text) => text.trim());
      await post("/config/rehearsal", {
        seconds: Number(seconds),
        share: Number(share),
        fail_on: failOn.filter((text) => text !== ""),
      });
      setError(undefined);
      onStarted();
    } catch (failure) {
      setError((failure as Error).message);
    }
  };
  return (
    <form
      class="filters card"
      aria-label="New rehearsal"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <Choice label="Take a sample for" value={seconds} choices={DURATIONS} onChange={setSeconds} />
      <Choice label="Share of the batches" value={share} choices={SHARES} onChange={setShare} />
      <label class="field">
        <span>Fail if (optional)</span>
        <input
          value={conditions}
          placeholder="drop>1%, errors>0"
          maxLength={500}
          onInput={(event) => setConditions(event.currentTarget.value)}
        />
      </label>
      <footer>
        <button type="submit" class="primary">
          Start
        </button>
      </footer>
      <ErrorText message={error} />
    </form>
  );
}
