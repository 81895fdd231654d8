import { useEffect, useState } from "preact/hooks";
import { connection } from "./api/connection.js";
import { useValue } from "./api/value.js";

const SHOW_BACK_MS = 6_000;

/** Tells the user that the agent cannot be reached, and when it is back. */
export function ConnectionBanner() {
  const { isLost, round } = useValue(connection);
  const [isNew, setNew] = useState(false);
  useEffect(() => {
    if (round === 0) return;
    setNew(true);
    const timer = setTimeout(() => setNew(false), SHOW_BACK_MS);
    return () => clearTimeout(timer);
  }, [round]);
  return (
    <div role="status">
      {isLost && <p class="banner bad">The agent cannot be reached. This page is out of date. Retrying…</p>}
      {!isLost && isNew && <p class="banner good">Connected again. All data was reloaded.</p>}
    </div>
  );
}
