import type { ComponentChildren } from "preact";
import { type Role, useMay } from "../api/me.js";

/** Shows an action to users who have its role. Others see why it is missing, if `what` names it. */
export function Needs({ right, what, children }: { right: Role; what?: string; children: ComponentChildren }) {
  const may = useMay(right);
  if (may === true) return <>{children}</>;
  if (may === undefined || what === undefined) return null;
  return (
    <small class="needs">
      {what} needs the role <code>{right}</code>, which you do not have.
    </small>
  );
}
