import { REHEARSAL_COMMAND } from "../../rehearsal/process/rehearsal-command.js";
import { AGENT_OPTIONS } from "../agent/find-agent.js";
import { OPERATOR_OPTIONS } from "../agent/operator.js";
import { type Command, type CommandOption, JSON_OUT, option } from "../command.js";
import { SAMPLE_OPTIONS } from "../live/commands.js";

/** `set` overrides values of the new config. */
export function rehearseCommand(set: CommandOption): Command {
  return {
    name: "rehearse",
    summary: "Preview what a new config would do to your traffic.",
    details: [
      "Sends a sample of your traffic through the pipelines of the new config and of --against, and shows the difference:",
      "records and bytes per exporter, records dropped or new, fields added, removed and changed, errors, and CPU time per",
      "record. Receivers, exporters and extensions do not run, so nothing is received, sent or stored. Records are shown",
      "masked. The sample comes from a file (sluice tap --record FILE writes one), or with --for from a running agent.",
      "The configs run in this command, not in the agent.",
      "Exit code 0; 1 if a config is invalid or there is no sample; 3 if a condition of --fail-on holds.",
    ],
    options: {
      against: {
        type: "string",
        multiple: true,
        value: "FILE",
        description: "The old config. Repeatable, later files override earlier ones. Without it nothing is compared.",
      },
      sample: option("FILE", "A recorded sample."),
      agent: option("URL", "Take a sample from this agent; the same as --api."),
      ...SAMPLE_OPTIONS,
      ...FAIL_ON,
      set,
      ...OPERATOR_OPTIONS,
      ...AGENT_OPTIONS,
      ...JSON_OUT,
    },
    names: "FILE ...",
    examples: [
      "sluice rehearse new.yaml --against pipeline.yaml --sample traffic.sample",
      "sluice rehearse new.yaml --against pipeline.yaml --for 60s --sample-rate 10% --why 'new filter'",
      "sluice rehearse new.yaml --against pipeline.yaml --sample traffic.sample --fail-on 'drop>1%' --fail-on 'errors>0'",
    ],
    load: async () => (await import("./rehearse.js")).rehearse,
  };
}

/** An agent starts this command to rehearse its own config. It is of no use to people, so the help does not list it. */
export const REHEARSAL_CHILD: Command = {
  name: REHEARSAL_COMMAND,
  summary: "Rehearse the config of the agent that has started this process.",
  details: [],
  options: {},
  examples: [],
  load: async () => (await import("./rehearsal-child.js")).rehearsalChild,
};

/** Option of every command that rehearses. */
export const FAIL_ON: Readonly<Record<string, CommandOption>> = {
  "fail-on": {
    type: "string",
    multiple: true,
    value: "CONDITION",
    description: "Exit with 3 if this holds: drop>1%, new>0, changed>5%, errors>0, bytes>10%, cpu>20%. Repeatable.",
  },
};
