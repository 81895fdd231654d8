import { useState } from "preact/hooks";

type Fields = Readonly<Record<string, string>>;

/** The fields of a form whose sent values are in the address. */
export interface Draft {
  /** The values in the address, with what has been typed since on top. */
  readonly values: Fields;
  type(name: string, value: string): void;
  /** Forgets what has been typed. */
  clear(): void;
}

/**
 * Typed text counts until the address has other values. It is put on top of them while drawing, not copied in
 * an effect: an effect runs after the page is drawn, and would overwrite what a fast user has typed by then.
 */
export function useDraft(sent: Fields): Draft {
  const base = JSON.stringify(sent);
  const [typed, setTyped] = useState<{ base: string; values: Fields }>({ base, values: {} });
  return {
    values: typed.base === base ? { ...sent, ...typed.values } : sent,
    type: (name, value) =>
      setTyped((before) => ({ base, values: { ...(before.base === base && before.values), [name]: value } })),
    clear: () => setTyped({ base, values: {} }),
  };
}
