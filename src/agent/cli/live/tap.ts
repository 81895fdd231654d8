import type { TappedRecord } from "#contract/api";
import { AdminError } from "#contract/operations";
import { printableJson } from "#text";
import { positionalArguments } from "../agent/report.js";
import { readEvents } from "../agent/send-request.js";
import { withAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { pluralize } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";
import { recordSample } from "./record-sample.js";
import { tappedLine } from "./tapped-line.js";

/** `sluice tap` */
export function tap(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  if (values["record"] !== undefined) return recordSample(context);
  const [at, ...others] = positionalArguments(context);
  if (at === undefined || others.length > 0) throw new UsageError("expected one component or pipeline");
  const query = new URLSearchParams({ at });
  for (const name of ["where", "limit", "rate"]) if (values[name] !== undefined) query.set(name, String(values[name]));
  return withAgent(context, async (api) => {
    const response = await api.open(`/tap?${query}`);
    try {
      for await (const { event, data } of readEvents(response)) {
        if (event === "end") return EXIT.ok;
        if (event === "dropped")
          terminal.err.write(`sluice: ${missedText(data.records, values["where"] !== undefined)}\n`);
        if (event !== "record") continue;
        const record = data as TappedRecord;
        terminal.out.write(`${values["json"] === true ? printableJson(record) : tappedLine(record, terminal.out)}\n`);
        if (!(await (terminal.out.drained?.() ?? true))) return EXIT.ok;
      }
    } finally {
      response.destroy();
    }
    throw new AdminError("unavailable", "the agent ended the tap; it may be stopping");
  });
}

/** With a condition it is unknown how many of the missed records would have matched. */
function missedText(records: number, hasCondition: boolean): string {
  const missed = `${records === 1 ? "was" : "were"} ${hasCondition ? "not looked at, or not shown" : "not shown"}`;
  return `${pluralize(records, "record")} passed and ${missed}`;
}
