import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError, get } from "./client.js";
import { connection } from "./connection.js";
import { pageShown } from "./page-shown.js";
import { signInWanted } from "./session.js";
import { useValue } from "./value.js";

/** A page's loaded data. After an error the previous data is kept. */
export interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

/**
 * Loads a path of the API. Reloads every `everyMs` while the page is visible, after the agent came back, and after a
 * sign-in. Without a path nothing is loaded.
 */
export function useLoad<T>(path: string | undefined, everyMs?: number): Loaded<T> {
  const [state, setState] = useState<{ path?: string | undefined; data?: T; error?: ApiError; isLoading: boolean }>({
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const { round } = useValue(connection);
  const isSignedOut = useValue(signInWanted) !== undefined;
  // Data that is loaded only once is loaded in a hidden tab too, and not again when the tab is shown.
  const isShown = useValue(pageShown) || everyMs === undefined;

  useEffect(() => {
    if (path === undefined || isSignedOut || !isShown) return;
    const abort = new AbortController();
    const load = async () => {
      try {
        const data = await get<T>(path, abort.signal);
        setState({ path, data, isLoading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        const known = error instanceof ApiError ? error : new ApiError(0, "internal", String(error));
        setState(({ path: before, data }) => ({
          path,
          error: known,
          isLoading: false,
          ...(before === path && data !== undefined && { data }),
        }));
      }
    };
    void load();
    const timer = everyMs && setInterval(() => void load(), everyMs);
    return () => {
      abort.abort();
      if (timer) clearInterval(timer);
    };
  }, [path, everyMs, turn, round, isSignedOut, isShown]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const isCurrent = state.path === path;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: path !== undefined && (!isCurrent || state.isLoading),
    reload,
  };
}
