/** Values that identify people, by the public descriptions of their formats. */

/** @typedef {import("../random.js").Random} Random */

const GIVEN =
  "anna,ben,carla,david,emma,felix,greta,hugo,ines,jonas,karin,luis,mona,nils,olga,pavel,quinn,rosa,sven,tara".split(
    ",",
  );
const FAMILY =
  "miller,garcia,schmidt,rossi,dubois,kowalski,jansen,silva,novak,tanaka,okafor,lindberg,haddad,mehta,oneil".split(",");
const HOSTS =
  "gmail.com,example.org,corp.example.co.uk,mail.example.io,outlook.com,web.de,contoso.local,intra.acme.internal,post.example.museum,xn--mller-kva.de,uni-bonn.de,acme.dev".split(
    ",",
  );

export function email(/** @type {Random} */ r) {
  const given = r.pick(GIVEN);
  const family = r.pick(FAMILY);
  const local = r.pick([
    `${given}.${family}`,
    given,
    `${given[0]}${family}${r.digits(2)}`,
    `${given}_${family}`,
    `${given}+${r.pick(["news", "shop", "x"])}`,
    `${given.toUpperCase()}.${family.toUpperCase()}`,
    `${given}-${r.digits(4)}`,
  ]);
  return `${local}@${r.pick(HOSTS)}`;
}

/** Brand, prefixes, length, grouping. @type {[string, string[], number, number[]][]} */
export const CARD_BRANDS = [
  ["visa", ["4"], 16, [4, 4, 4, 4]],
  ["mastercard", ["51", "53", "55", "2221", "2650"], 16, [4, 4, 4, 4]],
  ["american express", ["34", "37"], 15, [4, 6, 5]],
  ["discover", ["6011", "645", "65"], 16, [4, 4, 4, 4]],
  ["diners club", ["36", "301", "38"], 14, [4, 6, 4]],
  ["jcb", ["3530", "3566"], 16, [4, 4, 4, 4]],
  ["unionpay", ["6221", "6250", "81"], 16, [4, 4, 4, 4]],
  ["maestro", ["5018", "5020", "5038", "6304", "6759", "6761", "56", "58"], 16, [4, 4, 4, 4]],
  ["maestro long", ["6759", "6762", "5018"], 19, [4, 4, 4, 4, 3]],
  ["maestro short", ["6759", "5020"], 12, [4, 4, 4]],
  ["mir", ["2200", "2204"], 16, [4, 4, 4, 4]],
  ["rupay", ["60", "6521", "6522", "8171", "508"], 16, [4, 4, 4, 4]],
  ["elo", ["636368", "438935", "504175", "451416", "636297", "5067", "509", "650031"], 16, [4, 4, 4, 4]],
  ["hipercard", ["606282", "637095"], 16, [4, 4, 4, 4]],
  ["troy", ["9792"], 16, [4, 4, 4, 4]],
  ["uatp", ["1"], 15, [4, 5, 6]],
  ["verve", ["506099", "650002"], 16, [4, 4, 4, 4]],
];

export function card(/** @type {Random} */ r) {
  const [, beginnings, length, sizes] = r.pick(CARD_BRANDS);
  const beginning = r.pick(beginnings);
  const body = beginning + r.digits(length - 1 - beginning.length);
  let sum = 0;
  for (let i = 0; i < body.length; i++) {
    const n = Number(body[body.length - 1 - i]) * (i % 2 === 0 ? 2 : 1);
    sum += n > 9 ? n - 9 : n;
  }
  const number = body + ((10 - (sum % 10)) % 10);
  return r.pick([number, number, inGroups(number, sizes, " "), inGroups(number, sizes, "-")]);
}

export function inGroups(/** @type {string} */ text, /** @type {number[]} */ sizes, /** @type {string} */ between) {
  let at = 0;
  const groups = sizes.map((size) => text.slice(at, (at += size)));
  return groups.filter((group) => group !== "").join(between);
}

export const ipv4 = (/** @type {Random} */ r) =>
  `${r.pick([46, 171, 193, 203, 198, 8, 51, 91, 100, 185])}.${r.int(0, 255)}.${r.int(0, 255)}.${r.int(1, 254)}`;

export function ipv6(/** @type {Random} */ r) {
  const groups = Array.from({ length: 8 }, () => r.int(1, 65535).toString(16));
  return r.pick([
    groups.join(":"),
    `2001:db8::${groups.slice(0, r.int(1, 4)).join(":")}`,
    `2a00::${groups.slice(0, 4).join(":")}`,
    `2c${r.hex(2)}:${groups.slice(0, 3).join(":")}::${groups[4]}`,
    `2a01:4f8:${groups[0]}:${groups[1]}::1`,
    `::ffff:${ipv4(r)}`,
    groups.join(":").toUpperCase(),
  ]);
}

export function mac(/** @type {Random} */ r) {
  const bytes = Array.from({ length: 6 }, () => r.hex(2));
  return r.pick([
    bytes.join(":"),
    bytes.join("-"),
    bytes.join(":").toUpperCase(),
    bytes.join("-").toUpperCase(),
    inGroups(bytes.join(""), [4, 4, 4], "."),
  ]);
}

const MONTHS = "January,February,March,April,May,June,July,August,September,October,November,December".split(",");

export function birthDate(/** @type {Random} */ r) {
  const [y, m, d] = [r.int(1935, 2012), r.int(1, 12), r.int(1, 28)];
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const month = MONTHS[m - 1];
  return r.pick([
    `${y}-${two(m)}-${two(d)}`,
    `${two(d)}.${two(m)}.${y}`,
    `${two(d)}/${two(m)}/${y}`,
    `${m}/${d}/${y}`,
    `${y}/${two(m)}/${two(d)}`,
    `${d} ${month} ${y}`,
    `${month} ${d}, ${y}`,
    `${two(d)}-${month?.slice(0, 3)}-${y}`,
    `${y}${two(m)}${two(d)}`,
  ]);
}

export const passport = (/** @type {Random} */ r) =>
  r.pick([
    r.digits(9).replace(/^0/, "5"), // United States, United Kingdom
    `C${r.of("CFGHJKLMNPRTVWXYZ0123456789", 6)}${r.digits(2)}`, // Germany
    `${r.digits(2)}${r.of("ABCDEFGHKLMNPRTVWXYZ", 2)}${r.digits(5)}`, // France
    `${r.of("ABCDEFGH", 2)}${r.digits(6)}`, // Canada
    `${r.of("ABCDEFGHJKLMN", 2)}${r.digits(7)}`, // Italy, Poland, Japan
    `${r.of("EGDS", 1)}${r.digits(8)}`, // China
    `${r.of("ABCDEFGHJKLMNPRSTUVWXYZ", 1)}${r.digits(7)}`, // India, Australia
  ]);

/** @type {[string, string][]} */
const IBANS = [
  ["DE", "##################"],
  ["GB", "AAAA##############"],
  ["FR", "####################A##"],
  ["NL", "AAAA##########"],
  ["ES", "####################"],
  ["IT", "A######################"],
  ["PL", "########################"],
  ["CH", "#################"],
  ["SE", "####################"],
  ["PT", "#####################"],
  ["BE", "############"],
  ["IE", "AAAA##############"],
  ["SA", "##AAAAAAAAAAAAAAAAAA"],
  ["BR", "#######################A#"],
];

export function iban(/** @type {Random} */ r) {
  const [country, pattern] = r.pick(IBANS);
  const account = pattern.replace(/[#A]/g, (/** @type {string} */ c) =>
    c === "#" ? r.digits(1) : r.of("ABCDEFGHJKLMNPRSTUVWXYZ", 1),
  );
  const number = `${account}${country}00`.replace(/[A-Z]/g, (/** @type {string} */ c) => String(c.charCodeAt(0) - 55));
  const whole = `${country}${String(98n - (BigInt(number) % 97n)).padStart(2, "0")}${account}`;
  return r.pick([whole, whole, inGroups(whole, Array(9).fill(4), " "), whole.toLowerCase()]);
}

/** Bank accounts as people write them, each with its usual name. @type {[string, (r: Random) => string][]} */
export const BANK_ACCOUNTS = [
  ["account number", (r) => r.digits(r.int(8, 12)).replace(/^0/, "4")],
  ["account_no", (r) => r.digits(r.int(8, 12)).replace(/^0/, "4")],
  ["bank account", (r) => r.digits(10).replace(/^0/, "7")],
  ["routing number", (r) => aba(r)],
  ["sort code", (r) => `${r.digits(2)}-${r.digits(2)}-${r.digits(2)}`],
  ["Kontonummer", (r) => r.digits(10).replace(/^0/, "3")],
  ["IFSC", (r) => `${r.of("ABCDEFGHIJ", 4)}0${r.of("ABCDEF0123456789", 6)}`],
  ["clabe", (r) => clabe(r)],
];

function aba(/** @type {Random} */ r) {
  const first = `0${r.int(1, 9)}${r.digits(6)}`;
  const weights = [3, 7, 1, 3, 7, 1, 3, 7];
  const sum = weights.reduce((all, weight, i) => all + weight * Number(first[i]), 0);
  return first + ((10 - (sum % 10)) % 10);
}

function clabe(/** @type {Random} */ r) {
  const first = r.digits(17);
  const sum = [...first].reduce((all, c, i) => all + ((Number(c) * /** @type {number} */ ([3, 7, 1][i % 3])) % 10), 0);
  return first + ((10 - (sum % 10)) % 10);
}
