import { existsSync, writeFileSync } from "node:fs";
import { errorMessage } from "#contract/errors";
import { SIGNALS, type Signal } from "#otlp/signals";
import { type CommandContext, DEFAULT_CONFIG } from "../command.js";
import { EXIT, type Terminal, UsageError } from "../terminal.js";
import { configOption, configText, type InitChoices } from "./config-text.js";

/** `sluice init`: writes a starter config. Asks questions on a terminal, and never overwrites a file. */
export async function init({ values, terminal }: CommandContext): Promise<number> {
  const file = (values["out"] as string | undefined) ?? DEFAULT_CONFIG;
  const given = choicesGiven(values);
  const asks = terminal.ask !== undefined && Object.keys(given).length === 0 && values["yes"] !== true;
  // Check this before asking questions, whose answers would be lost.
  if (asks && file !== "-" && existsSync(file)) return reportUnwritten(terminal, file, ALREADY_EXISTS);
  const choices = { ...DEFAULTS, ...given, ...(asks ? await askForChoices(terminal) : {}) };
  checkEndpoint(choices);
  if (file === "-") {
    terminal.out.write(configText(choices, DEFAULT_CONFIG));
    return EXIT.ok;
  }
  try {
    writeFileSync(file, configText(choices, file), { flag: "wx" });
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === "EEXIST";
    return reportUnwritten(terminal, file, isThere ? ALREADY_EXISTS : errorMessage(error));
  }
  const option = configOption(file);
  terminal.out.write(`Wrote ${file}. Next:\n  sluice validate${option}\n  sluice run${option}\n`);
  return EXIT.ok;
}

const ALREADY_EXISTS = "it exists; choose another file with --out FILE";

function reportUnwritten({ err }: Terminal, file: string, why: string): number {
  err.write(`sluice: ${file} was not written: ${why}\n`);
  return EXIT.failed;
}

const DEFAULTS: InitChoices = {
  endpoint: undefined,
  protocol: "http",
  signals: SIGNALS,
  isPublic: false,
  masks: false,
};

function choicesGiven(values: CommandContext["values"]): Partial<InitChoices> {
  const endpoint = values["endpoint"] as string | undefined;
  const protocol = values["protocol"] as string | undefined;
  const signals = values["signals"] as string | undefined;
  return {
    ...(endpoint !== undefined && { endpoint, protocol: protocolOf(endpoint) }),
    ...(protocol !== undefined && { protocol: readProtocol(protocol) }),
    ...(signals !== undefined && { signals: readSignals(signals) }),
    ...(values["public"] === true && { isPublic: true }),
    ...(values["pii"] === true && { masks: true }),
  };
}

async function askForChoices({ ask, err }: Terminal): Promise<Partial<InitChoices>> {
  const answer = async (question: string) => (await ask!(question)).trim();
  const isYes = async (question: string) => /^y(es)?$/i.test(await answer(`${question} [y/N] `));
  err.write("This writes a config to start from. Press Enter to accept the default in brackets.\n");
  /** Repeats the question until the answer is valid; an empty answer always is. */
  const askWhere = async () => {
    for (;;) {
      const endpoint = await answer("Where should data go? A URL, or host:port for gRPC [nowhere: print it]: ");
      if (endpoint === "") return {};
      const chosen = { endpoint, protocol: protocolOf(endpoint) };
      try {
        checkEndpoint(chosen);
        return chosen;
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        err.write(`${error.message}\n`);
      }
    }
  };
  const where = await askWhere();
  const masks = await isYes("Mask personal data and secrets?");
  const isPublic = await isYes("Accept data from other machines too?");
  return { ...where, masks, isPublic };
}

/** A URL means HTTP, unless its port is 4317, the port of gRPC. */
function protocolOf(endpoint: string): InitChoices["protocol"] {
  return /^https?:\/\//.test(endpoint) && !/:4317\/?$/.test(endpoint) ? "http" : "grpc";
}

function readProtocol(word: string): InitChoices["protocol"] {
  if (word === "http" || word === "grpc") return word;
  throw new UsageError(`--protocol: expected http or grpc, not ${JSON.stringify(word)}`);
}

function readSignals(text: string): readonly Signal[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== "" && word !== "and");
  const unknown = words.find((word) => !(SIGNALS as readonly string[]).includes(word));
  if (unknown !== undefined || words.length === 0)
    throw new UsageError(`expected some of ${SIGNALS.join(", ")}, not ${JSON.stringify(unknown ?? text)}`);
  return SIGNALS.filter((signal) => words.includes(signal));
}

function checkEndpoint({ endpoint, protocol }: Pick<InitChoices, "endpoint" | "protocol">): void {
  if (endpoint === undefined) return;
  const isUrl = URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol);
  const isAddress = /^(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}$/.test(endpoint);
  if (protocol === "http" ? isUrl : isUrl || isAddress) return;
  const expected = protocol === "http" ? "a URL such as http://localhost:4318" : "an address such as localhost:4317";
  throw new UsageError(`${JSON.stringify(endpoint)} is not an endpoint; expected ${expected}`);
}
