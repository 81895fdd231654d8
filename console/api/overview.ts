import { useEffect } from "preact/hooks";
import type { Overview } from "./shapes.js";
import { useLoad } from "./use-load.js";
import { useValue, Value } from "./value.js";

const EVERY_MS = 5_000;
const overview = new Value<Overview | undefined>(undefined);

/** Loads the overview again and again, for the header and the page, while the component is mounted. */
export function useLoadOverview(): void {
  const { data } = useLoad<Overview>("/overview", EVERY_MS);
  useEffect(() => {
    overview.set(data);
    return () => overview.set(undefined);
  }, [data]);
}

/** Undefined until loaded. */
export function useOverview(): Overview | undefined {
  return useValue(overview);
}
