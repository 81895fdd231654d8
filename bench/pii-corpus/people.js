import { ordinaryLines } from "./ordinary.js";
import { randomFrom } from "./random.js";
import { ordinaryTelemetry } from "./wild/ordinary.js";

/**
 * Names and addresses of people in telemetry, for the detectors that are off by default. The lists are this file's own:
 * common and rare names as in birth registers and phone books of sixteen countries, and streets and towns as on maps.
 * Nothing is taken from the detectors' dictionaries.
 *
 * @typedef {import("./random.js").Random} Random
 * @typedef {{ kind: "person_name" | "postal_address", country: string, context: string, line: string, value: string }} PersonPlant
 */

const list = (/** @type {string} */ text) => text.trim().split(/\s*,\s*/);

/** Given names and surnames. @type {Record<string, [given: string[], family: string[]]>} */
const NAMES = {
  us: [
    list(
      "James, Mary, Liam, Olivia, Brayden, Kaitlyn, Tyrone, LaToya, Wyatt, Harper, Dwayne, Mckenzie, Chad, Tiffany, Earl, Destiny, Marcus, Brittany, Jamal, Ebony",
    ),
    list(
      "Smith, Johnson, Washington, Kowalczyk, Hutchinson, McAllister, Whitaker, Holloway, O'Reilly, Vanderbilt, Stokes, Pruitt, Boone, Delacroix, Hernandez, Nguyen",
    ),
  ],
  gb: [
    list("Oliver, Amelia, Alistair, Gemma, Nigel, Siobhan, Rhys, Isla, Callum, Imogen, Graham, Poppy, Angus, Bronwyn"),
    list(
      "Smith, Pemberton, Featherstone, MacLeod, Jones, Llewellyn, Ashworth, Cartwright, Hargreaves, Fairbairn, Whittle, Singh, Patel",
    ),
  ],
  de: [
    list(
      "Anna, Lukas, Hildegard, Thorben, Jürgen, Käthe, Sebastian, Annegret, Torsten, Friederike, Wolfgang, Leonie, Detlef, Mareike, Kevin",
    ),
    list(
      "Müller, Schmidt, Freudenberger, von Bülow, Großmann, Yıldız, Hinrichsen, Oberhuber, Lindemann, Schäfer, Kuczynski, Röttgen, Weiß",
    ),
  ],
  fr: [
    list(
      "Camille, Jean-Pierre, Océane, Thibault, Geneviève, Léa, Mathéo, Anne-Sophie, Gaston, Clémence, Yannick, Solange, Bertrand",
    ),
    list(
      "Dupont, Lefèvre, Charpentier, de La Fontaine, Benali, Moreau, Guillot, Roussel, Marchal, Le Goff, Vasseur, Bourdon",
    ),
  ],
  es: [
    list("Lucía, Javier, María José, Íñigo, Montserrat, Álvaro, Begoña, Xavi, Encarnación, Pablo, Soledad, Rodrigo"),
    list("García López, Etxeberria, Muñoz, de la Cruz, Fernández, Puig, Castellanos, Ibáñez, Zamora, Olmedo, Quiroga"),
  ],
  it: [
    list("Giulia, Lorenzo, Ginevra, Gennaro, Mariangela, Ettore, Francesca, Pasquale, Alessandro, Ludovica"),
    list("Rossi, Esposito, D'Angelo, Mazzanti, De Luca, Bortolotti, Ferrari, Santangelo, Pellegrino, Zanetti"),
  ],
  nl: [
    list("Daan, Sanne, Joost, Femke, Maarten, Anneke, Sjoerd, Lieke, Willem, Roos"),
    list("de Vries, van den Berg, Jansen, Hoekstra, van Dijk, Zijlstra, Bakker, Postma, Kuipers"),
  ],
  pl: [
    list("Katarzyna, Piotr, Małgorzata, Zbigniew, Agnieszka, Wojciech, Bożena, Mateusz"),
    list("Kowalska, Nowak, Wiśniewski, Szczepański, Dąbrowska, Zieliński, Wróbel"),
  ],
  se: [
    list("Erik, Linnéa, Göran, Åsa, Elin, Torbjörn, Maja"),
    list("Johansson, Lindström, Bergqvist, Nyström, Andersson, Åkerlund"),
  ],
  br: [
    list("João, Beatriz, Thiago, Larissa, Raimundo, Letícia, Gustavo, Jussara"),
    list("Silva, dos Santos, Oliveira, Cavalcanti, Albuquerque, Ferreira, Figueiredo"),
  ],
  in: [
    list("Priya, Rahul, Lakshmi, Venkatesh, Anjali, Arvind, Sneha, Harpreet, Mohammed, Kavya"),
    list("Sharma, Patel, Krishnamurthy, Mukherjee, Iyer, Kaur, Reddy, Chaudhary, Deshpande, Khan"),
  ],
  tr: [list("Mehmet, Ayşe, Emre, Zeynep, Hüseyin, Elif"), list("Yılmaz, Demir, Karagöz, Çelik, Öztürk")],
  vn: [list("Minh Anh, Thu Hà, Quốc Bảo, Ngọc Lan"), list("Nguyễn, Trần, Lê, Phạm")],
  ru: [
    list("Иван, Екатерина, Дмитрий, Зинаида, Алексей, Людмила, Тимур, Ольга"),
    list("Иванов, Смирнова, Кузнецов, Лебедева, Воробьёв, Ткаченко"),
  ],
  cn: [list("伟, 芳, 秀英, 建国, 子涵, 浩然"), list("王, 李, 张, 欧阳, 陈, 赵")],
  jp: [list("太郎, 花子, 陽菜, 健一, さくら"), list("佐藤, 鈴木, 高橋, 渡辺, 五十嵐")],
};
const EASTERN = new Set(["cn", "jp", "vn"]);

function name(/** @type {Random} */ r, /** @type {string} */ country) {
  const [given, family] = /** @type {[string[], string[]]} */ (NAMES[country]);
  const first = r.pick(given);
  const last = r.pick(family);
  if (country === "cn") return `${last}${first}`;
  if (country === "jp") return r.chance(0.5) ? `${last}${first}` : `${last} ${first}`;
  if (EASTERN.has(country)) return `${last} ${first}`;
  const way = r.next();
  if (way < 0.08) return `${first} ${r.of("ABCDEFGHJKLMNPRST", 1)}. ${last}`;
  if (way < 0.14) return `${last}, ${first}`;
  if (way < 0.2) return `${first} ${last}`.toUpperCase();
  return `${first} ${last}`;
}

/** @type {[string, (r: Random, v: string) => string][]} */
const NAME_CONTEXTS = [
  [
    "sentence",
    (r, v) =>
      r.pick([
        `Order ${r.digits(6)} was placed by ${v} yesterday`,
        `could not find a ticket of ${v} in the archive`,
        `Call with ${v} scheduled for 10:30`,
        `The claim of ${v} has been approved`,
      ]),
  ],
  [
    "title",
    (r, v) =>
      r.pick([
        `Please transfer Mr. ${v} to ward ${r.int(1, 9)}`,
        `appointment for Dr. ${v} moved`,
        `Frau ${v} hat angerufen`,
        `Mme ${v} a rappelé`,
        `Reserva de la Sra. ${v} confirmada`,
      ]),
  ],
  [
    "greeting",
    (r, v) =>
      r.pick([
        `Dear ${v}, your parcel is on its way`,
        `mail rendered: "Hello ${v}, welcome back"`,
        `Bonjour ${v}, votre commande est prête`,
        `Hallo ${v}, Ihre Rechnung ist da`,
      ]),
  ],
  [
    "key=value",
    (r, v) =>
      `level=info event=signup ${r.pick(["customer_name", "full_name", "name", "cardholder", "patient", "recipient"])}="${v}" plan=pro`,
  ],
  [
    "JSON",
    (r, v) =>
      `{"id":${r.int(1, 999)},"${r.pick(["fullName", "name", "customer", "contactName", "assignee"])}":${JSON.stringify(v)},"ok":true}`,
  ],
  [
    "JSON in a string",
    (r, v) => `payload="{\\"${r.pick(["name", "full_name", "displayName"])}\\":\\"${v}\\",\\"n\\":${r.int(1, 9)}}"`,
  ],
  [
    "URL query",
    (r, v) =>
      `GET /search?${r.pick(["name", "customer_name", "q"])}=${r.chance(0.5) ? encodeURIComponent(v) : encodeURIComponent(v).replaceAll("%20", "+")}&page=${r.int(1, 9)}`,
  ],
  ["SQL", (r, v) => `INSERT INTO users (id, name) VALUES (${r.int(1, 999)}, '${v.replaceAll("'", "''")}')`],
  ["CSV", (r, v) => `${r.int(1, 999)};${v};${r.pick(["active", "blocked"])};2024-0${r.int(1, 9)}-11`],
];
/** @type {[string, (r: Random, v: string) => string][]} */
const CHINESE_CONTEXTS = [
  ["label", (r, v) => r.pick([`姓名:${v} 已登记`, `{"姓名":"${v}","id":${r.int(1, 99)}}`, `联系人: ${v}`])],
  ["title", (r, v) => r.pick([`${v}先生的订单已发货`, `通知${v}女士`])],
];
/** @type {[string, (r: Random, v: string) => string][]} */
const JAPANESE_CONTEXTS = [
  ["label", (r, v) => r.pick([`氏名: ${v}`, `お名前="${v}" 登録`])],
  ["title", (r, v) => r.pick([`${v}様のご注文`, `担当は${v}さんです`])],
];
/** @type {[string, (r: Random, v: string) => string][]} */
const RUSSIAN_CONTEXTS = [
  ["sentence", (r, v) => r.pick([`Заказ оформил ${v} вчера`, `клиент ${v} не найден`])],
  ["label", (r, v) => r.pick([`ФИО: ${v}`, `{"name":"${v}"}`])],
];

/** @type {Record<string, (r: Random) => string>} */
const ADDRESSES = {
  us: (r) =>
    `${r.int(1, 9999)} ${r.pick(["Maple", "N Lincoln", "Martin Luther King Jr", "W 42nd", "Peachtree", "Old Mill", "Cedar Creek", "Sunset"])} ${r.pick(["St", "Street", "Ave", "Avenue", "Blvd", "Rd", "Lane", "Dr", "Court", "Pkwy"])}${r.pick(["", "", `, Apt ${r.int(1, 40)}`, ` Suite ${r.int(100, 900)}`])}, ${r.pick(["Springfield, IL", "Austin, TX", "San Jose, CA", "Brooklyn, NY"])} ${r.digits(5)}`,
  gb: (r) =>
    `${r.pick(["", "Flat 3, "])}${r.int(1, 300)} ${r.pick(["High", "Station", "Church", "Victoria", "Mill", "Kings"])} ${r.pick(["Street", "Road", "Lane", "Close", "Gardens", "Crescent"])}, ${r.pick(["Leeds LS1 4DY", "London SW1A 2AA", "Cardiff CF10 1EP", "Bristol, BS1 5TR"])}`,
  de: (r) =>
    `${r.pick(["Hauptstraße", "Lindenweg", "Goethestr.", "Am Marktplatz", "Schillerplatz", "Königsallee", "Berliner Straße", "Karl-Marx-Straße", "Unter den Linden", "Mühlgasse"])} ${r.int(1, 199)}${r.pick(["", "a", ""])}, ${r.int(10000, 99999)} ${r.pick(["Berlin", "München", "Bad Homburg", "Köln"])}`,
  fr: (r) =>
    `${r.int(1, 199)}${r.pick(["", " bis", ","])} ${r.pick(["rue de la République", "avenue Victor Hugo", "boulevard Saint-Michel", "place Bellecour", "chemin des Vignes", "allée des Tilleuls"])}, ${r.int(10000, 95999)} ${r.pick(["Paris", "Lyon", "Aix-en-Provence"])}`,
  es: (r) =>
    `${r.pick(["Calle Mayor", "Calle de Alcalá", "Avenida de la Constitución", "Paseo del Prado", "Plaza España", "C/ Serrano"])}${r.pick([", ", " "])}${r.int(1, 199)}, ${r.int(10000, 52999)} ${r.pick(["Madrid", "Sevilla", "Valencia"])}`,
  it: (r) =>
    `${r.pick(["Via Roma", "Viale dei Mille", "Piazza Garibaldi", "Corso Vittorio Emanuele II", "Via Giuseppe Verdi"])}${r.pick([" ", ", "])}${r.int(1, 199)}, ${r.int(10000, 98999)} ${r.pick(["Milano", "Napoli", "Reggio Emilia"])}`,
  nl: (r) =>
    `${r.pick(["Keizersgracht", "Dorpsstraat", "Beethovenlaan", "Marktplein", "Zeedijk"])} ${r.int(1, 399)}, ${r.int(1000, 9999)} ${r.of("ABCDEGH", 2)} ${r.pick(["Amsterdam", "Utrecht", "Den Haag"])}`,
  se: (r) =>
    `${r.pick(["Drottninggatan", "Ringvägen", "Storgatan"])} ${r.int(1, 99)}, ${r.int(100, 999)} ${r.digits(2)} ${r.pick(["Stockholm", "Malmö"])}`,
  br: (r) =>
    `${r.pick(["Rua Augusta", "Avenida Paulista", "Rua das Flores", "Travessa do Comércio"])}, ${r.int(1, 2999)} - ${r.pick(["São Paulo", "Recife"])}`,
  in: (r) =>
    `${r.int(1, 300)}, ${r.pick(["MG Road", "Brigade Road", "Nehru Marg", "Anna Salai"])}, ${r.pick(["Bengaluru", "Chennai"])} ${r.int(110000, 699999)}`,
  ru: (r) =>
    `${r.pick(["ул. Ленина", "улица Пушкина", "проспект Мира"])}, ${r.pick(["д. ", "дом ", ""])}${r.int(1, 99)}`,
  cn: (r) => `${r.pick(["北京市朝阳区建国路", "上海市浦东新区世纪大道", "广州市天河区体育东路"])}${r.int(1, 999)}号`,
  jp: (r) =>
    `${r.pick(["東京都千代田区丸の内", "大阪府大阪市北区梅田", "神奈川県横浜市西区高島"])}${r.int(1, 9)}-${r.int(1, 20)}-${r.int(1, 20)}`,
  box: (r) => `${r.pick(["P.O. Box", "PO Box", "Postfach"])} ${r.int(10, 9999)}`,
};

/** @type {[string, (r: Random, v: string) => string][]} */
const ADDRESS_CONTEXTS = [
  [
    "sentence",
    (r, v) =>
      r.pick([
        `Parcel ${r.digits(8)} delivered to ${v} at 14:05`,
        `courier could not find ${v}`,
        `new customer lives at ${v}`,
      ]),
  ],
  [
    "key=value",
    (r, v) => `event=ship ${r.pick(["address", "shipping_address", "street", "dest"])}="${v}" carrier=x${r.int(1, 9)}`,
  ],
  [
    "JSON",
    (r, v) =>
      `{"order":${r.digits(5)},"${r.pick(["address", "shippingAddress", "billing_address", "line1"])}":${JSON.stringify(v)}}`,
  ],
  ["JSON in a string", (r, v) => `body="{\\"${r.pick(["address", "addr"])}\\":\\"${v}\\",\\"n\\":${r.int(1, 9)}}"`],
  ["URL query", (r, v) => `GET /geocode?${r.pick(["address", "q"])}=${encodeURIComponent(v)}&limit=${r.int(1, 9)}`],
  ["label", (r, v) => r.pick([`Lieferadresse: ${v}`, `Delivery address: ${v}`, `Adresse : ${v}`])],
];

/** @param {number} count @param {number} seed @returns {PersonPlant[]} */
export function plantedPeople(count, seed) {
  const r = randomFrom(seed * 7919 + 3);
  const contextsOf = (/** @type {string} */ country) =>
    country === "cn"
      ? CHINESE_CONTEXTS
      : country === "jp"
        ? JAPANESE_CONTEXTS
        : country === "ru"
          ? [...NAME_CONTEXTS.slice(3), ...RUSSIAN_CONTEXTS]
          : NAME_CONTEXTS;
  const names = Array.from({ length: count }, () => {
    const country = r.pick(Object.keys(NAMES));
    const [context, put] = r.pick(contextsOf(country));
    return plant("person_name", country, context, name(r, country), put);
  });
  const addresses = Array.from({ length: count }, () => {
    const country = r.pick(Object.keys(ADDRESSES));
    const [context, put] = r.pick(ADDRESS_CONTEXTS);
    return plant("postal_address", country, context, /** @type {(r: Random) => string} */ (ADDRESSES[country])(r), put);
  });
  return [...names, ...addresses];

  /** @returns {PersonPlant} */
  function plant(
    /** @type {PersonPlant["kind"]} */ kind,
    /** @type {string} */ country,
    /** @type {string} */ context,
    /** @type {string} */ value,
    /** @type {(r: Random, v: string) => string} */ put,
  ) {
    return { kind, country, context, value, line: put(r, value) };
  }
}

/**
 * Lines without people, but with capitals, numbers and words as in names and addresses.
 * @type {((r: Random) => string)[]}
 */
const LOOKALIKES = [
  (r) =>
    `${r.pick(["Spring Boot", "Visual Studio", "Red Hat", "Apache Kafka", "Google Cloud", "Amazon Web Services", "Internet Explorer", "Power Query"])} ${r.int(1, 20)} ${r.pick(["Started", "Update Failed", "Service Ready"])}`,
  (r) =>
    `${r.pick(["Order Service", "Payment Gateway", "Billing Worker", "Fraud Engine", "Customer Portal", "Shipping Label"])} ${r.pick(["Timeout", "Connection Reset", "Health Check Passed", "Circuit Open"])} after ${r.int(1, 60)} s`,
  (r) =>
    `Flight from ${r.pick(["New York", "San Francisco", "Los Angeles", "Hong Kong", "Rio de Janeiro", "Frankfurt am Main"])} to ${r.pick(["Kuala Lumpur", "Buenos Aires", "Tel Aviv", "Sankt Gallen"])} delayed ${r.int(5, 90)} minutes`,
  (r) =>
    `Der ${r.pick(["Speicherplatz", "Arbeitsspeicher", "Datensatz", "Benutzer", "Auftrag"])} ${r.int(1, 99)} wurde im ${r.pick(["Lager", "System", "Rechenzentrum"])} ${r.pick(["Nicht Gefunden", "gelöscht", "Freigegeben"])}`,
  (r) =>
    `name="${r.pick(["http-nio-8080-exec", "Worker Pool", "Main Thread", "Scheduled Executor", "checkout", "Red Widget Large"])}" count=${r.int(1, 99)}`,
  (r) =>
    `{"name":"${r.pick(["Summer Sale Banner", "Leather Office Chair", "Wireless Mouse Black", "Premium Plan", "Green Tea 500 g"])}","sku":"${r.digits(6)}"}`,
  (r) =>
    `address=${r.pick([`10.0.${r.int(0, 255)}.${r.int(1, 254)}:8080`, `0x${r.hex(12)}`, `tcp://node-${r.int(1, 9)}.internal:5432`, `[::]:${r.int(1000, 9999)}`])} state=ready`,
  (r) =>
    `${r.int(1, 40)} ${r.pick(["Hard Disks Found", "Retries Left", "Open Files", "Jobs In Queue", "Unit Tests Passed", "Rows Way Too Long"])} in ${r.pick(["Zone A", "Rack 12", "Region West"])}`,
  (r) =>
    `com.acme.${r.pick(["OrderController", "UserRepository", "JohnDeereAdapter"])} threw ${r.pick(["NullPointerException", "Illegal State", "Bad Gateway"])} at ${r.pick(["Main Loop", "Request Filter"])}:${r.int(1, 900)}`,
  (r) =>
    `Release Notes ${r.int(1, 9)}.${r.int(0, 9)}: ${r.pick(["Dark Mode", "Single Sign On", "Faster Search", "New Dashboard", "Jordan Region Support", "Victoria Metrics Export"])} added on ${r.pick(["Monday", "Friday"])}, ${r.pick(["March", "May", "August"])} ${r.int(1, 28)}`,
  (r) =>
    `${r.pick(["Wall Street", "Main Street Bank", "Via Rail", "Park Place Hotel", "Silicon Valley Bank"])} feed ${r.pick(["connected", "closed"])}, ${r.int(1, 99)} symbols`,
  (r) => `Hello World from ${r.pick(["Pod", "Node", "Lambda"])} ${r.int(1, 99)}, welcome back`,
  (r) =>
    `Error code ${r.int(100, 999)} Via Proxy ${r.int(1, 9)}, route ${r.int(1, 99)} place order, Drive ${r.pick(["C", "D"])} full`,
  (r) =>
    `user=${r.pick(["admin", "root", "svc-billing", "guest"])} role=${r.pick(["Owner", "Viewer"])} from Chrome ${r.int(90, 130)} on Mac OS X`,
  (r) => `Die Bestellung ${r.digits(6)} Ist Abgeschlossen; Kunde: ${r.digits(7)}, Zahlung Per Rechnung`,
];

/**
 * Ordinary lines of the other corpora, and as many that resemble people more.
 * @param {number} count @param {number} seed
 */
export function linesWithoutPeople(count, seed) {
  const r = randomFrom(seed * 31 + 11);
  const half = Math.floor(count / 2);
  const quarter = Math.floor(half / 2);
  return [
    ...ordinaryLines(quarter, seed),
    ...ordinaryTelemetry(half - quarter, seed),
    ...Array.from({ length: count - half }, (_, i) =>
      /** @type {(r: Random) => string} */ (LOOKALIKES[i % LOOKALIKES.length])(r),
    ),
  ];
}

/**
 * Counts what is left of planted names and addresses, and which other lines are changed. Gone means that no word of a
 * name, and neither street nor number of an address, is left in its place.
 *
 * @param {(lines: string[]) => string[]} treat @param {{ each: number, ordinary: number, seeds: number[] }} size
 */
export function judgePeople(treat, { each, ordinary, seeds }) {
  const plants = seeds.flatMap((seed) => plantedPeople(each, seed));
  const after = treat(plants.map(({ line }) => line));
  const judged = plants.map((one, i) => ({
    ...one,
    after: /** @type {string} */ (after[i]),
    isGone: isGone(one, /** @type {string} */ (after[i])),
  }));
  const lines = seeds.flatMap((seed) => linesWithoutPeople(ordinary, seed));
  const treated = treat(lines);
  const changed = lines.flatMap((line, i) =>
    treated[i] === line ? [] : [{ line, after: /** @type {string} */ (treated[i]) }],
  );
  return { judged, ordinary: lines.length, changed };
}

function isGone(/** @type {PersonPlant} */ { kind, value, line }, /** @type {string} */ after) {
  const plain = decoded(after);
  const outside = decoded(line).replace(value, " ");
  const parts = kind === "person_name" ? value.split(/[\s,]+/) : value.split(",").slice(0, 1);
  return parts
    .filter((part) => part.length > 2 || /\p{Script=Han}/u.test(part))
    .every((part) => outside.includes(part) || !plain.includes(part));
}

function decoded(/** @type {string} */ text) {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
