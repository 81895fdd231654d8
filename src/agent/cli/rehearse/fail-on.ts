import type { CommandOption } from "../command.js";

/** Option of every command that rehearses. */
export const FAIL_ON: Readonly<Record<string, CommandOption>> = {
  "fail-on": {
    type: "string",
    multiple: true,
    value: "CONDITION",
    description: "Exit with 3 if this holds: drop>1%, new>0, changed>5%, errors>0, bytes>10%, cpu>20%. Repeatable.",
  },
};
