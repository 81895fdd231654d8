import { Value } from "./value.js";

const KEY = "sluice.token";

/** Set when the API requires a token that we do not have; the value is its message. */
export const signInWanted = new Value<string | undefined>(undefined);

/**
 * A link may carry the token behind `#token=`, which browsers never send to a server. It is kept for this tab only, and
 * removed from the address bar and the history at once.
 */
export function takeTokenFromAddress(): void {
  const given = /^#token=([^&]+)/.exec(location.hash)?.[1];
  if (given === undefined) return;
  saveToken(decodeURIComponent(given));
  history.replaceState(null, "", location.pathname);
}

export function readToken(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}

export function saveToken(token: string): void {
  sessionStorage.setItem(KEY, token.trim());
  signInWanted.set(undefined);
}

export function hasToken(): boolean {
  return readToken() !== undefined;
}

/** Forgets the token of this tab, and asks for one. */
export function signOut(): void {
  sessionStorage.removeItem(KEY);
  signInWanted.set("");
}
