import { latin1 } from "../text/characters.js";
import { HINT_CLIENT } from "../text/detectors.js";
import { KEY, LABEL, PRIVATE } from "../text/evidence.js";
import { matches } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";

/** UTF-8 as it looks when it is read as Latin-1. */
const bytesOf = (text: string) => Buffer.from(text).toString("latin1");

/** Words that say that an address belongs to a person, or to what a person uses. */
const CLIENT = [
  "clients?|remote|visitors?|customers?|subscribers?|x[ _-]?forwarded[ _-]?for|forwarded[ _-]?for|connecting|kunden?|clientes?",
  bytesOf(
    "клиент(?:а)?|пользовател(?:ь|я)|客户(?:端)?|用户|クライアント|ユーザ(?:ー)?|클라이언트|사용자|العميل|المستخدم",
  ),
].join("|");
/** Such words that are the end of others as well. */
const SHORT_CLIENT =
  "(?:end)?users?|(?<!(?:bgp|ospf|etcd|raft|cluster|gossip|vrrp|ipsec|consul) )peer|guest|player|caller|xff|x-real|rhost|rip|framed|benutzers?|besuchers?|nutzers?|usuarios?|utilisateurs?|utenti|utente|gebruikers?|klienta?|u.ytkownika?";
/** Words that say what kind of value follows. */
const ADDRESS = "ip|ipv[46]|addr|address|network|socket|host|hostname|adresse?|direcci\xc3\xb3n|adres";
const VERBS = "connected|disconnected|connecting|from|at|is|was|on|with";
const END = `["'\\])]{0,2}[ =:>([<@,/]{0,4}["'[(]{0,2}(?:::ffff:)?$`;
/** Other addresses before this one in a list. */
const LIST = `(?:["'[(]{0,2}(?:[\\da-f.:]{2,45}|\\*{4}|unknown)["'\\])]{0,2}, ?){0,3}`;

const FOLLOWS_CLIENT = new RegExp(
  `(?:(?:${CLIENT})|(?:^|[^a-z])(?:${SHORT_CLIENT}))(?:[ ._-]?(?:${ADDRESS}))*(?: (?:${VERBS})){0,2}["'\\])]{0,2}[ =:>([<@,/]{1,4}${LIST}${END}`,
  "i",
);
/** The host of a database's user: `user 'app'@'192.168.22.5'`. */
const HOST_OF_USER = /(?:^|[^a-z])user[ =:]{1,2}['"`<]?[\w.-]{1,40}['"`]?@['"`]?$/i;

/** Words before the origin of something, which may be a login. */
const ORIGIN = bytesOf("from|src|source|origin|desde|depuis|von|aus|vanaf|da|z adresu|от|с адреса|来自|から");
const FOLLOWS_ORIGIN = new RegExp(
  `(?:^|[^a-z])(?:${ORIGIN})(?:[ ._-]?(?:${ADDRESS}))*["'\\])]{0,2}[ =:>([<@,/]{1,4}${END}`,
  "i",
);
/** A word that says only that an address follows. */
const FOLLOWS_ADDRESS = new RegExp(`(?:^|[^a-z-])(?:${ADDRESS})["'\\])]{0,2}[ =:>([<@,/]{1,4}${END}`, "i");
/** Words about a login, and words that something else may be about if the origin of it is not named. */
const LOGIN = bytesOf(
  "log[ -]?[io]n(?![a-z])|logged[ -]in|sign[ -]?in(?![a-z])|signed in|pg_hba|anmeldung|angemeldet|inicio de sesi\u00f3n|connexion de|вход|登录|ログイン|로그인|zalogowa|inlog|mfa|2fa",
);
const LOGIN_EVENT = new RegExp(LOGIN, "i");
const LOGIN_WORD = new RegExp(`${LOGIN}|authenticat|auth[ ._-]?fail|passw|publickey|sshd|credential`, "i");

const MAX_BEFORE = 224;
const MAX_LOGIN = 96;
const MAX_AFTER = 48;

/**
 * The evidence about an address that means something only inside a network: it is ordinary text unless a label or the
 * key says that it belongs to a client or a person, or that it is where a login came from.
 */
export function privateEvidence(b: Uint8Array, start: number, stop: number): number {
  if (matches.findsPrivateAddresses) return 0;
  if ((matches.hints & HINT_CLIENT) !== 0) return PRIVATE | KEY;
  work.spent += 3 * TEXT_COST;
  const before = latin1(b, Math.max(matches.floor, start - MAX_BEFORE), start);
  if (FOLLOWS_CLIENT.test(before) || HOST_OF_USER.test(before)) return PRIVATE | LABEL;
  const words = FOLLOWS_ORIGIN.test(before) ? LOGIN_WORD : FOLLOWS_ADDRESS.test(before) ? LOGIN_EVENT : undefined;
  if (words === undefined) return PRIVATE;
  const isLogin =
    words.test(before.slice(-MAX_LOGIN)) || words.test(latin1(b, stop, Math.min(matches.end, stop + MAX_AFTER)));
  if (!isLogin) matches.hasBarePosition = true; // a mask may bring such a word nearer
  return isLogin ? PRIVATE | LABEL : PRIVATE;
}
