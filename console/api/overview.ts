import { useEffect } from "preact/hooks";
import type { Overview } from "./shapes.js";
import { useLoad } from "./use-load.js";
import { useValue, Value } from "./value.js";

const EVERY_MS = 5_000;
const overview = new Value<Overview | undefined>(undefined);

/** Counts the changes that users of this tab have made, because they want to see their effect at once. */
const changes = new Value(0);

/** Loads the overview again and again, for the header and the page, while the component is mounted. */
export function useLoadOverview(): void {
  const { data, reload } = useLoad<Overview>("/overview", EVERY_MS);
  const round = useValue(changes);
  useEffect(() => {
    if (round > 0) reload();
  }, [round]);
  useEffect(() => {
    overview.set(data);
    return () => overview.set(undefined);
  }, [data]);
}

/** Loads the overview now, after a change of what it counts. */
export function reloadOverview(): void {
  changes.set(changes.get() + 1);
}

/** Undefined until loaded. */
export function useOverview(): Overview | undefined {
  return useValue(overview);
}
