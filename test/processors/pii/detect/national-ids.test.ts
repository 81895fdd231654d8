import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CheckDigits } from "../../../../src/processors/pii/detect/numbers/national/check-digits.js";
import * as elsewhere from "../../../../src/processors/pii/detect/numbers/national/elsewhere.js";
import * as europe from "../../../../src/processors/pii/detect/numbers/national/europe.js";
import { FORMS } from "../../../../src/processors/pii/detect/numbers/national/forms.js";
import { maskText } from "../../../../src/processors/pii/mask-text.js";

/** Numbers with right check digits that another implementation made, by the names of our checks. */
const VALID: Readonly<Record<string, string>> = {
  isBsn: "291112821 341503575 917210992 486142528 609620356 559509765",
  isNhsNumber: "9634312144 9472085679 9761954722 9307369186 9461691270 9998906245",
  isSteuerId: "65118134209 92270536483 96853974101 75092377818 76859813203 67400093820",
  isNir: "189067130784212 170127889257953 160101929491517 160036198973325 253129197168546 256010846029134",
  isSvnr: "6669040781 5272160596 3106280489 7760210950 1212280176 6514210555",
  isRijksregisternummer: "62022176122 76050452516 96112370519 91061045138 67071051460 80112623761",
  isEgn: "7208168330 7107032243 7304061287 5101166299 5501171113 5712224568",
  isAhvNumber: "7566454801837 7567176462757 7569356851122 7565225914158 7565147161944 7568163814207",
  isRodneCislo: "8308242932 5504059198 7107191707 7901173710 7405081618 9708216925",
  isBalticCode: "37305064092 35012255473 37812022215 47105265575 46511012488 47712063086",
  isPersonasKods: "22098417258 28046217340 26127219129 21107914033 24035017686 27105218250",
  isAmka: "07096842427 11077500806 14109317967 23119791707 24058926338 25126598249",
  isOib: "44244522392 61100311651 46958865978 88161062814 20128273061 63999260715",
  isKennitala: "1205938119 1205629599 1411958249 1004535179 1103719509 2204976669",
  isJmbg: "0302972507411 2309955505709 1408973506318 2706954501288 1211995500234 2408981509400",
  isFodselsnummer: "25109355669 01036908161 11037160247 09127953268 06119423315 04018818006",
  isPesel: "79091449614 72120843577 60021059139 79051024468 59042005050 63012878344",
  isNip: "4996647814 9641442251 1474608759 3387793252 7870188190 7649282047",
  isNif: "298501325 236308629 270468838 235045934 262191199 218861273",
  isCnp: "1701222126108 1690616123328 1820118123111 1920119126456 1811204121941 1570727128430",
  isInn: "360527395544 877401884469 980042561571 265674317712 920803337190 193821058302",
  isPersonnummer: "7710123105 7503187838 6201198600 7704105332 8909052188 8201212308",
  isKimlik: "74392457810 91829674398 95660039828 34644699870 15272572056 98077160390",
  isRnokpp: "4130689640 9204335890 1819415497 6133583680 3998624754 8978232462",
  isIdnp: "2387695732527 2570221557309 2321923140021 2553062680643 2373948153133 2943801805246",
  isCpf: "13111439046 39963962521 47468912904 27851205905 86302648025 77069540728",
  isCnpj: "67559863000174 45033651000116 49425751000149 39518857000133 59577835000151 16965951000135",
  isCuit: "20154173421 20943522600 20877549071 20627993103 20076301744 20971552191",
  isSin: "446088239 464610849 474541794 449405109 434373858 462290404",
  isCedula: "00150667087 00132902719 00132991407 00195555560 00104380548 00131723892",
  isEcuadorianCedula: "1726044488 1720264728 1725598435 1727886580 1727688978 1721553871",
  isRuc: "10086673768 10924707696 10387565669 10308019221 10903324282 10718273311",
  isMyNumber: "120494300341 760221110883 496199052476 237438936610 360791459504 242248117064",
  isResidentId:
    "110105198211174481 110105195402276479 110105199304096093 110105195912278597 110105196902210251 110105199811110435",
  isAadhaar: "578651073314 522684399959 568187081502 550789234661 584786723605 585003399274",
  isResidentNumber: "6009121601342 5902171025937 6111121211091 6608071836237 9404161085491 8409041496513",
  isThaiId: "5811345476870 5045533708678 7366490383165 1325206530048 1939668799704 6470576441860",
  isTfn: "832604718 691015309 946948334 102860273 748254915 779537760",
  isIrd: "049492090 041722142 042675920 040898932 049982615 044462311",
  isTeudatZehut: "410049159 634764039 198679334 745074948 749096608 842463978",
  isSouthAfricanId: "7908262702084 5205279960082 5403202546082 9510115396086 7903262711086 8607017698089",
  isTaj: "853283526 037687210",
  isSnils: "78346061525 11223344595",
  isUruguayanCedula: "12345672",
  isEmiratesId: "784198000000004",
  isIin: "850221361278",
  isMedicare: "2123456701",
};

const CHECKS: Readonly<Record<string, CheckDigits>> = { ...europe, ...elsewhere };
const digitsOf = (id: string) => Uint8Array.from(id, Number);

describe.each(Object.entries(VALID))("the check %s", (name, ids) => {
  const check = CHECKS[name]!;
  const valid = ids.split(" ");

  it("accepts valid numbers", () => {
    expect(valid.filter((id) => !check(digitsOf(id)))).toEqual([]);
  });

  it("refuses them with any other last digit", () => {
    const last = name === "isMedicare" ? 8 : -1; // behind its check digit comes the number of the person
    for (const id of valid)
      for (let step = 1; step < 10; step++) {
        const digits = digitsOf(id);
        const at = last < 0 ? digits.length - 1 : last;
        if (name === "isSvnr" || name === "isKennitala") continue; // their check digits are in the middle
        digits[at] = (digits[at]! + step) % 10;
        expect([id, step, check(digits)]).toEqual([id, step, false]);
      }
  });
});

describe("national numbers", () => {
  it("are hardly ever valid by chance", () => {
    const tries = 400; // the share of fewer says little
    const sizes = new Map(FORMS.map(({ check, sizes: parts }) => [check, parts.reduce((sum, size) => sum + size, 0)]));
    for (const [check, size] of sizes) {
      let accepted = 0;
      fc.assert(
        fc.property(fc.array(fc.nat(9), { minLength: size, maxLength: size }), (digits) => {
          if (check(Uint8Array.from([...digits, 0, 0, 0, 0, 0, 0]))) accepted++;
        }),
        { numRuns: tries, seed: 7 },
      );
      expect(accepted / tries).toBeLessThan(0.2);
    }
  });

  it.each([
    ["AHV", "gemeldet: 756.9217.0769.85 fehlt"],
    ["RUT", "alumno 18.134.993-K sin beca"],
    ["CUIT", "alta de 20-57799191-0 en el padrón"],
    ["SNILS", "передан 112-233-445 95 вчера"],
    ["rodné číslo", "klient 950228/0106 nenalezen"],
    ["주민등록번호", "고객 581012-2159891 확인"],
    ["personnummer", "kund 811218-9876 saknas"],
    ["NRIC", "visitor S1234567D at gate 2"],
    ["CURP", "alumna BUBF970618MNLVYN65 inscrita"],
  ])("of the form %s are found without a label", (_, text) => {
    expect(maskText(text, false)).toContain("****");
  });

  it.each(["756.9217.0769.84", "18.134.993-1", "20-57799191-1", "112-233-445 96", "950228/0107", "S1234567A"])(
    "such as %s are left if the check digit is wrong",
    (id) => {
      expect(maskText(`seen ${id} today`, false)).toBe(`seen ${id} today`);
    },
  );

  it("are found behind a label that is further away, if their check digits are right", () => {
    expect(maskText("PESEL klienta nie pasuje 59090422454", false)).toBe("PESEL klienta nie pasuje ****");
    expect(maskText("PESEL klienta nie pasuje 59090422455", false)).toBe("PESEL klienta nie pasuje 59090422455");
  });
});
