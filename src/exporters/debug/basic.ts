import { type Batch, type Paint, SHAPES } from "../../plugin.js";
import { countMessages } from "./skim.js";
import { withThousandsSeparators } from "./values.js";

const RESOURCES = [1];
const METRICS = [1, 2, 2];

/** One line: logs: 12 log records from 2 resources, 4,123 bytes */
export function basicLine(batch: Batch, paint: Paint): string {
  const resources = amount(countMessages(batch.bytes, RESOURCES), "resource");
  const records = amount(batch.count, SHAPES[batch.signal].itemNoun);
  const parts =
    batch.signal === "metrics" ? [amount(countMessages(batch.bytes, METRICS), "metric"), records] : [records];
  const size = paint("dim", `from ${resources}, ${amount(batch.byteLength, "byte")}`);
  return `${paint("bold", `${batch.signal}:`)} ${parts.join(", ")} ${size}`;
}

function amount(count: number, noun: string): string {
  return `${withThousandsSeparators(count)} ${noun}${count === 1 ? "" : "s"}`;
}
