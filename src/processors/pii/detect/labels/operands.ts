import { proposeSecret } from "../secrets/assigned-secret.js";
import { assigned } from "../secrets/assigned-value.js";
import { latin1 } from "../text/characters.js";
import { ASSIGNED_SECRET } from "../text/detectors.js";
import { LABEL, PLACE } from "../text/evidence.js";
import { matches, NOT_FOUND, RULED_OUT } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { PASSWORD_LABEL } from "./label-words.js";

/** Commands that take a password as an operand, up to the password. */
const OPERAND = new RegExp(
  `(?:${[
    "rabbitmqctl (?:-\\S+ (?:\\S+@\\S+ )?)*(?:add_user|change_password|authenticate_user) \\S+",
    "net use (?:\\S: |\\* )?\\\\\\\\\\S+(?: /user:\\S+)?",
    "net user \\S+",
    "schtasks [^\\n]{0,60}/rp",
    "sapcontrol [^\\n]{0,40}-user \\S+",
    "ftp> user \\S+",
    "snmp-server (?:community|host \\S+)",
    "snmp-server user [^\\n]{1,40} auth (?:md5|sha\\S*)",
    " priv (?:3?des|aes(?:[ -]?\\d+)?)",
    "(?:cmdkey|runas|wmic) [^\\n]{0,60}/pass(?:word)?",
    "doveadm pw [^\\n]{0,30}-p",
    "asadmin [^\\n]{0,40}--passwordvalue",
    "vncpasswd",
    "ipmitool user set password \\d+",
    "kadmin[^\\n]{0,30} -pw",
  ].join("|")}) ["']?$`,
  "i",
);
/** A password that a pipe gives to a program that asks for it. */
const PIPED_TO = /^["']? *\| *(?:sudo|kinit|su\b|passwd|docker login|cryptsetup|smbpasswd|ssh-add|vncpasswd|openssl)/;
const ECHO = /(?:echo|printf) (?:-n |'%s' )?["']?$/;
/** Texts that a script sends to a program that asks for a password. */
const SEND = /\bsend (?:-- )?["']$/;

const COMMANDS = ["rabbitmqctl", "net use", "net user", "schtasks", "sapcontrol", "ftp> ", "snmp-server", "cmdkey"];
COMMANDS.push("runas", "wmic", "doveadm", "asadmin", "vncpasswd", "ipmitool", "kadmin", "echo ", "printf ", "send ");
/** The first four bytes of these commands, and a table that rules most other bytes out. */
const FIRST_BYTES = new Set(COMMANDS.map((command) => Buffer.from(command).readInt32BE()));
const BEGINNINGS = new Uint8Array(1 << 14);
for (const command of COMMANDS) {
  const [a, b, c, d] = Buffer.from(command) as unknown as [number, number, number, number];
  BEGINNINGS[beginningOf(a, b, c, d)] = 1;
}

function beginningOf(a: number, b: number, c: number, d: number): number {
  return ((a << 9) ^ (b << 6) ^ (c << 3) ^ d) & 0x3fff;
}

const MAX_BEFORE = 120;
const MAX_AFTER = 24;
/** How much of a text is searched for the name of a command. */
const MAX_SEARCHED = 2048;
let searchedScan = -1;
/** Position up to which the text was searched, and whether a command is before it. */
let searchedTo = 0;
let hasCommand = false;
/** How many more values of the text are looked at. */
let triesLeft = 0;
const MAX_TRIES = 8;

/** Finds the password at `start` that a command takes as an operand: `rabbitmqctl add_user anna tiger7`. */
export function findOperand(b: Uint8Array, start: number): number {
  if (searchedScan !== matches.scan) {
    searchedScan = matches.scan;
    searchedTo = matches.floor;
    hasCommand = false;
    triesLeft = MAX_TRIES;
  }
  if (triesLeft === 0 || !isAfterCommand(b, start) || !matches.isEnabled(ASSIGNED_SECRET)) return RULED_OUT;
  triesLeft--;
  work.spent += 4 * TEXT_COST;
  const before = latin1(b, Math.max(matches.lastEnd, start - MAX_BEFORE), start);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const isQuoted = /["']$/.test(line);
  assigned.read(b, isQuoted ? start - 1 : start);
  if (assigned.start !== start || assigned.stop - start < MIN_LENGTH) return NOT_FOUND;
  const { stop } = assigned;
  const after = latin1(b, stop, Math.min(matches.end, stop + MAX_AFTER));
  const isPiped = ECHO.test(line) && PIPED_TO.test(after);
  const isSent = SEND.test(line) && /\\[rn]$/.test(latin1(b, start, stop));
  if (!OPERAND.test(line) && !isPiped && !isSent) return NOT_FOUND;
  if (isSent) assigned.stop -= 2;
  return proposeSecret(b, PASSWORD_LABEL, LABEL | PLACE, true);
}

const MIN_LENGTH = 4;

/** Whether a command stands before `start`. Positions only go forward, so each byte is read once. */
function isAfterCommand(b: Uint8Array, start: number): boolean {
  if (hasCommand) return true;
  const end = Math.min(start, matches.floor + MAX_SEARCHED) - 3;
  let p = searchedTo;
  work.spent += Math.max(0, end - p) >> 5;
  for (; p < end && !hasCommand; p++)
    if (BEGINNINGS[beginningOf(b[p]!, b[p + 1]!, b[p + 2]!, b[p + 3]!)] === 1)
      hasCommand = FIRST_BYTES.has((b[p]! << 24) | (b[p + 1]! << 16) | (b[p + 2]! << 8) | b[p + 3]!);
  searchedTo = p;
  return hasCommand;
}
