import { useEffect, useRef } from "preact/hooks";
import { type Me, ROLES, useLoadMe, useMe } from "./api/me.js";
import { hasToken, signOut } from "./api/session.js";
import { Text } from "./parts/text.js";

/** The actions that each role allows, in the words of the menu. */
const MEANINGS: Readonly<Record<(typeof ROLES)[number], string>> = {
  view: "see everything, with masked records",
  reveal: "see unmasked records, and search in them",
  replay: "replay dead letters",
  purge: "delete dead letters",
  configure: "pause exporters, hold breakers, reload the config",
};

/** The signed-in user: name and roles, and the way out. */
export function UserMenu() {
  useLoadMe();
  const me = useMe();
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const menu = element.current;
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      if (menu?.open && (isEscape || !menu.contains(event.target as Node))) menu.open = false;
    };
    for (const name of ["click", "keydown", "focusin"]) document.addEventListener(name, close);
    return () => {
      for (const name of ["click", "keydown", "focusin"]) document.removeEventListener(name, close);
    };
  }, []);
  if (me === undefined) return null;
  return (
    <details class="user" ref={element}>
      <summary aria-label={`Signed in as ${me.name}, ${roleText(me)}`}>
        <Text value={me.name} inline max={24} /> <small>{roleText(me)}</small>
      </summary>
      <div class="card user-card">
        <p>
          The audit records what you do as{" "}
          <strong>
            <Text value={me.name} max={200} />
          </strong>
          .
        </p>
        <ul class="plain">
          {ROLES.map((role) => (
            <li key={role} class={me.roles.includes(role) ? "" : "dim"}>
              {me.roles.includes(role) ? "✓" : "✗"} <code>{role}</code> <small>{MEANINGS[role]}</small>
            </li>
          ))}
        </ul>
        {hasToken() && (
          <footer>
            <button type="button" onClick={signOut}>
              Sign out
            </button>
          </footer>
        )}
      </div>
    </details>
  );
}

/** `all roles`, `view only`, `view, replay`. */
export function roleText({ roles }: Me): string {
  if (roles.length === ROLES.length) return "all roles";
  return roles.length < 2 ? `${roles[0] ?? "no role"}${roles.length === 1 ? " only" : ""}` : roles.join(", ");
}
