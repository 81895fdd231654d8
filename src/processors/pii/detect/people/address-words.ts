/** Words of addresses in lower case and without accents, as `Tokens` folds them. */
const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Words after the name of a street. */
export const STREET_SUFFIXES: ReadonlySet<string> = new Set(
  words(`
street st avenue ave av road rd lane ln drive dr boulevard blvd court ct way place pl square sq terrace close crescent cres highway hwy
parkway pkwy circle cir trail alley mews grove gardens row walk nagar marg chowk salai
`),
);

/** Words before the name of a street. Some of them have other meanings and count only if a postcode follows. */
export const STREET_PREFIXES: ReadonlyMap<string, "alone" | "with postcode"> = new Map([
  ...words(`
rue avenue boulevard chemin impasse allee quai calle avenida plaza paseo carrer carretera camino viale piazza corso vicolo rua travessa
alameda praca ulica улица ул проспект пр переулок бульвар strada bulevardul jalan
`).map((word) => [word, "alone"] as const),
  ...words("via place cours largo route av ul al str").map((word) => [word, "with postcode"] as const),
]);

/** Endings of street names that are written as one word. */
export const COMPOUND_ENDINGS =
  /(?:strasse|str|weg|platz|allee|gasse|ufer|damm|chaussee|straat|laan|plein|gracht|kade|dijk|gatan|vagen|gata|veien|vegen|vej|gade|katu|utca)$/;

/** Words with such an ending that are not streets. */
export const NOT_STREETS: ReadonlySet<string> = new Set(
  words(
    "speicherplatz arbeitsplatz sitzplatz stellplatz parkplatz festplattenplatz rueckweg ruckweg umweg weg substr instr",
  ),
);

export const BOXES: ReadonlySet<string> = new Set(words("box postfach postbus"));

/** Words before a house number. */
export const HOUSE_NUMBER_WORDS: ReadonlySet<string> = new Set(words("no nr n num numero дом д"));

/** Words before the number of an apartment, floor or room. */
export const UNITS: ReadonlySet<string> = new Set(
  words(
    "apt apartment suite ste unit flat floor fl room rm wohnung appartement appt piso puerta interno scala apto bloco кв квартира",
  ),
);

/** Labels before an address, with all separators between their words removed. */
export const ADDRESS_LABELS: ReadonlySet<string> = new Set(
  words(`
address street streetaddress shippingaddress billingaddress homeaddress postaladdress mailingaddress deliveryaddress addressline
addr1 address1 residence adresse anschrift lieferadresse rechnungsadresse wohnort adressepostale direccion domicilio indirizzo residenza
endereco morada adres adress osoite адрес
`),
);
