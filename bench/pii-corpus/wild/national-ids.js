/**
 * National numbers with their check digits, from official descriptions: the country, the common names of the number (a
 * number that needs a name has no recognisable format), and how to make one.
 *
 * @typedef {import("../random.js").Random} Random
 * @typedef {{ country: string, labels: string[], needsLabel: boolean, make: (r: Random) => string }} NationalId
 * @type {NationalId[]}
 */
export const NATIONAL_IDS = [
  { country: "US", labels: ["SSN", "social security number"], needsLabel: false, make: (r) => ssn(r, "-") },
  { country: "US", labels: ["ssn", "SSN"], needsLabel: true, make: (r) => ssn(r, "") },
  {
    country: "US",
    labels: ["ITIN", "tax id"],
    needsLabel: false,
    make: (r) => `9${r.digits(2)}-${r.int(70, 88)}-${r.digits(4)}`,
  },
  { country: "GB", labels: ["NINO", "national insurance number", "NI number"], needsLabel: false, make: nino },
  { country: "GB", labels: ["NHS number", "nhs_number"], needsLabel: true, make: nhs },
  { country: "DE", labels: ["Steuer-ID", "steuer_id", "IdNr", "tax id"], needsLabel: true, make: steuerId },
  { country: "FR", labels: ["NIR", "numéro de sécurité sociale"], needsLabel: false, make: nir },
  { country: "ES", labels: ["DNI", "NIF"], needsLabel: false, make: dni },
  { country: "ES", labels: ["NIE"], needsLabel: false, make: nie },
  { country: "IT", labels: ["codice fiscale", "cf"], needsLabel: false, make: codiceFiscale },
  { country: "NL", labels: ["BSN", "burgerservicenummer"], needsLabel: true, make: bsn },
  { country: "BR", labels: ["CPF", "cpf"], needsLabel: false, make: (r) => cpf(r, true) },
  { country: "BR", labels: ["CPF", "cpf"], needsLabel: true, make: (r) => cpf(r, false) },
  { country: "IN", labels: ["Aadhaar", "aadhaar_number", "UIDAI"], needsLabel: false, make: (r) => aadhaar(r, " ") },
  { country: "IN", labels: ["Aadhaar", "aadhaar"], needsLabel: true, make: (r) => aadhaar(r, "") },
  {
    country: "IN",
    labels: ["PAN", "pan_number"],
    needsLabel: false,
    make: (r) =>
      `${r.of(CAPITALS, 3)}${r.pick(["P", "C", "H", "F"])}${r.of(CAPITALS, 1)}${r.digits(4)}${r.of(CAPITALS, 1)}`,
  },
  { country: "CN", labels: ["身份证", "id card"], needsLabel: false, make: residentId },
  { country: "JP", labels: ["マイナンバー", "my number", "個人番号"], needsLabel: true, make: myNumber },
];

const CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
const sumOf = (/** @type {string} */ digits, /** @type {number[]} */ weights) =>
  weights.reduce((sum, weight, i) => sum + weight * Number(digits[i]), 0);

function ssn(/** @type {Random} */ r, /** @type {string} */ between) {
  const area = r.pick([r.int(1, 665), r.int(667, 899)]);
  return [String(area).padStart(3, "0"), two(r.int(1, 99)), String(r.int(1, 9999)).padStart(4, "0")].join(between);
}

function nino(/** @type {Random} */ r) {
  const letters = r.pick(["AB", "CE", "JK", "LM", "PR", "SW", "YZ", "HH", "EA"]);
  const d = r.digits(6);
  const last = r.pick(["A", "B", "C", "D"]);
  return r.pick([`${letters}${d}${last}`, `${letters} ${d.slice(0, 2)} ${d.slice(2, 4)} ${d.slice(4)} ${last}`]);
}

function nhs(/** @type {Random} */ r) {
  for (;;) {
    const d = String(r.int(4, 7)) + r.digits(8);
    const check = (11 - (sumOf(d, [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11;
    if (check === 10) continue;
    return r.pick([`${d}${check}`, `${d.slice(0, 3)} ${d.slice(3, 6)} ${d.slice(6)}${check}`]);
  }
}

function steuerId(/** @type {Random} */ r) {
  // One digit occurs twice, one not at all, the others once.
  const pool = [..."0123456789"].sort(() => r.next() - 0.5).slice(0, 9);
  pool.push(/** @type {string} */ (pool[r.int(0, 8)]));
  const digits = pool.sort(() => r.next() - 0.5);
  const zero = digits.findIndex((c) => c !== "0");
  [digits[0], digits[zero]] = [/** @type {string} */ (digits[zero]), /** @type {string} */ (digits[0])];
  let product = 10;
  for (const c of digits) {
    const sum = (Number(c) + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  const whole = digits.join("") + ((11 - product) % 10);
  return r.pick([whole, `${whole.slice(0, 2)} ${whole.slice(2, 5)} ${whole.slice(5, 8)} ${whole.slice(8)}`]);
}

function nir(/** @type {Random} */ r) {
  const body = `${r.pick([1, 2])}${two(r.int(30, 99))}${two(r.int(1, 12))}${two(r.int(1, 95))}${String(r.int(1, 990)).padStart(3, "0")}${String(r.int(1, 999)).padStart(3, "0")}`;
  const key = two(97 - Number(BigInt(body) % 97n));
  return r.pick([
    body + key,
    `${body[0]} ${body.slice(1, 3)} ${body.slice(3, 5)} ${body.slice(5, 7)} ${body.slice(7, 10)} ${body.slice(10)} ${key}`,
  ]);
}

const DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE";

function dni(/** @type {Random} */ r) {
  const n = r.int(10_000_000, 99_999_999);
  return `${n}${r.pick(["", "-"])}${DNI_LETTERS[n % 23]}`;
}

function nie(/** @type {Random} */ r) {
  const first = r.int(0, 2);
  const n = r.digits(7);
  return `${"XYZ"[first]}${n}${DNI_LETTERS[Number(`${first}${n}`) % 23]}`;
}

function codiceFiscale(/** @type {Random} */ r) {
  const consonants = "BCDFGLMNPRSTVZ";
  const day = r.int(1, 28) + r.pick([0, 40]);
  const body = `${r.of(consonants, 6)}${two(r.int(0, 99))}${r.of("ABCDEHLMPRST", 1)}${two(day)}${r.of("ABCDEFGHIL", 1)}${String(r.int(1, 999)).padStart(3, "0")}`;
  const odd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
  let sum = 0;
  for (let i = 0; i < 15; i++) {
    const c = /** @type {string} */ (body[i]);
    const value = /\d/.test(c) ? Number(c) : c.charCodeAt(0) - 65;
    sum += i % 2 === 0 ? /** @type {number} */ (odd[value]) : value;
  }
  return body + CAPITALS[sum % 26];
}

function bsn(/** @type {Random} */ r) {
  for (;;) {
    const d = String(r.int(1, 9)) + r.digits(7);
    const check = sumOf(d, [9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    if (check < 10) return `${d}${check}`;
  }
}

function cpf(/** @type {Random} */ r, /** @type {boolean} */ isFormatted) {
  let d = r.digits(9);
  for (const from of [10, 11]) {
    const sum = [...d].reduce((all, c, i) => all + Number(c) * (from - i), 0);
    d += ((sum * 10) % 11) % 10;
  }
  return isFormatted ? `${d.slice(0, 3)}.${d.slice(3, 6)}.${d.slice(6, 9)}-${d.slice(9)}` : d;
}

function aadhaar(/** @type {Random} */ r, /** @type {string} */ between) {
  const body = String(r.int(2, 9)) + r.digits(10);
  const whole = body + verhoeff(body);
  return [whole.slice(0, 4), whole.slice(4, 8), whole.slice(8)].join(between);
}

/** The check digit by the dihedral group D5. */
function verhoeff(/** @type {string} */ digits) {
  const times = (/** @type {number} */ a, /** @type {number} */ b) => {
    if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5);
    return b < 5 ? 5 + ((a - b + 5) % 5) : (a - b + 5) % 5;
  };
  const permute = (/** @type {number} */ n, /** @type {number} */ often) => {
    let value = n;
    for (let i = 0; i < often; i++) value = /** @type {number} */ ([1, 5, 7, 6, 2, 8, 3, 0, 9, 4][value]);
    return value;
  };
  let check = 0;
  [...digits].reverse().forEach((c, i) => {
    check = times(check, permute(Number(c), (i + 1) % 8));
  });
  for (let n = 0; n < 10; n++) if (times(check, n) === 0) return n;
  return 0;
}

function residentId(/** @type {Random} */ r) {
  const body = `${r.pick(["110105", "310104", "440305", "330106", "510107"])}${r.int(1950, 2010)}${two(r.int(1, 12))}${two(r.int(1, 28))}${r.digits(3)}`;
  return body + "10X98765432"[sumOf(body, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11];
}

function myNumber(/** @type {Random} */ r) {
  const d = r.digits(11);
  const rest = [...d].reverse().reduce((sum, c, i) => sum + Number(c) * (i < 6 ? i + 2 : i - 4), 0) % 11;
  return d + (rest <= 1 ? 0 : 11 - rest);
}
