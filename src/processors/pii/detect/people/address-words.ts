/** Words of addresses in lower case and without accents, as `Tokens` folds them. */
const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Behind the name of a street. */
export const STREET_SUFFIXES: ReadonlySet<string> = new Set(
  words(`
street st avenue ave av road rd lane ln drive dr boulevard blvd court ct way place pl square sq terrace close crescent cres highway hwy
parkway pkwy circle cir trail alley mews grove gardens row walk nagar marg chowk salai
`),
);

/** Before the name of a street. Some are other words too, unless a postcode follows. */
export const STREET_PREFIXES: ReadonlyMap<string, "alone" | "with postcode"> = new Map([
  ...words(`
rue avenue boulevard chemin impasse allee quai calle avenida plaza paseo carrer carretera camino viale piazza corso vicolo rua travessa
alameda praca ulica улица ул проспект пр переулок бульвар strada bulevardul jalan
`).map((word) => [word, "alone"] as const),
  ...words("via place cours largo route av ul al str").map((word) => [word, "with postcode"] as const),
]);

/** What names of streets end with that are one word. */
export const COMPOUND_ENDINGS =
  /(?:strasse|str|weg|platz|allee|gasse|ufer|damm|chaussee|straat|laan|plein|gracht|kade|dijk|gatan|vagen|gata|veien|vegen|vej|gade|katu|utca)$/;

/** Words that end so and are no streets. */
export const NO_STREETS: ReadonlySet<string> = new Set(
  words(
    "speicherplatz arbeitsplatz sitzplatz stellplatz parkplatz festplattenplatz rueckweg ruckweg umweg weg substr instr",
  ),
);

export const BOXES: ReadonlySet<string> = new Set(words("box postfach postbus"));

/** Before a number of a house. */
export const BEFORE_NUMBERS: ReadonlySet<string> = new Set(words("no nr n num numero дом д"));

/** Before a number of a part of a house. */
export const UNITS: ReadonlySet<string> = new Set(
  words(
    "apt apartment suite ste unit flat floor fl room rm wohnung appartement appt piso puerta interno scala apto bloco кв квартира",
  ),
);

/** Behind these stands an address; joined, without what is between their words. */
export const ADDRESS_LABELS: ReadonlySet<string> = new Set(
  words(`
address street streetaddress shippingaddress billingaddress homeaddress postaladdress mailingaddress deliveryaddress addressline
addr1 address1 residence adresse anschrift lieferadresse rechnungsadresse wohnort adressepostale direccion domicilio indirizzo residenza
endereco morada adres adress osoite адрес
`),
);
