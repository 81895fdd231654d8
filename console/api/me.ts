import { useEffect } from "preact/hooks";
import { useLoad } from "./use-load.js";
import { useValue, Value } from "./value.js";

/** A right of a user; see docs/operate/dead-letters.md. */
export type Role = "view" | "reveal" | "replay" | "purge" | "configure";

export const ROLES: readonly Role[] = ["view", "reveal", "replay", "purge", "configure"];

/** The user of this tab, by their token. */
export interface Me {
  /** The name in the audit. */
  readonly name: string;
  readonly roles: readonly Role[];
}

const me = new Value<Me | undefined>(undefined);

/** Loads who the user is, for all others to use, while the component is mounted. */
export function useLoadMe(): void {
  const { data } = useLoad<Me>("/me");
  useEffect(() => {
    me.set(data);
    return () => me.set(undefined);
  }, [data]);
}

/** Undefined until loaded. */
export function useMe(): Me | undefined {
  return useValue(me);
}

/** Whether the user has a role; undefined until that is known. */
export function useMay(role: Role): boolean | undefined {
  return useMe()?.roles.includes(role);
}
