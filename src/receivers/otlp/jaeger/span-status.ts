import { SPECIAL, type TagList } from "./tag-list.js";

const UNSET = 0;
const OK = 1;
const ERROR = 2;
const SERVER_KIND = 2;
const CLIENT_KIND = 3;

/** The message of the status found last. */
export let statusMessage = "";

/**
 * Derives the status from tags as the Collector does: first from `error: true`, then from OpenTelemetry's tags, then
 * from the HTTP status. Removes tags that carry no other information. The message is in `statusMessage`.
 */
export function takeStatus(tags: TagList, kind: number): number {
  const isWritten = tags.has(SPECIAL.statusCode);
  const written = isWritten ? (tags.textOf(SPECIAL.statusCode) ?? "") : "";
  statusMessage = "";
  tags.remove(SPECIAL.statusCode);
  if (tags.isTrue(SPECIAL.error)) {
    tags.remove(SPECIAL.error);
    statusMessage = takeMessage(tags) ?? tags.textOf(SPECIAL.httpMessage) ?? "";
    return ERROR;
  }
  if (isWritten) {
    statusMessage = takeMessage(tags) ?? "";
    return { OK, ERROR }[written.toUpperCase()] ?? UNSET;
  }
  const code = codeOfHttp(tags, kind);
  if (code !== UNSET) statusMessage = tags.textOf(SPECIAL.httpMessage) ?? "";
  return code;
}

/** A message that is not text is ignored. */
function takeMessage(tags: TagList): string | undefined {
  if (!tags.has(SPECIAL.statusMessage)) return undefined;
  const text = tags.textOf(SPECIAL.statusMessage) ?? "";
  tags.remove(SPECIAL.statusMessage);
  return text;
}

/** A 4xx answer is not an error of the server. */
function codeOfHttp(tags: TagList, kind: number): number {
  const status = tags.integerOf(SPECIAL.httpCode) ?? numberIn(tags.textOf(SPECIAL.httpCode));
  if (status === undefined) return UNSET;
  if (status >= 400 && status < 500 && kind === SERVER_KIND) return UNSET;
  if (status >= 400 && status < 500 && kind === CLIENT_KIND) return ERROR;
  return status >= 100 && status < 400 ? UNSET : ERROR;
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d{1,18}$/.test(text) ? Number(text) : undefined;
}
