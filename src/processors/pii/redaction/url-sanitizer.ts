import { work } from "../detect/text/work.js";

const MAX_SEPARATORS = 10;
/** Work units per byte. */
const COST = 4;

/**
 * Returns the path with `*` in place of each segment that is an id, and without query and fragment, as in the
 * Collector. A segment is an id if it has other characters than ASCII letters and `-_. ` (the second one may be any),
 * or if its letters do not follow each other as in English words. Everything behind the tenth slash is left out.
 */
export function sanitizeUrl(url: string): string {
  work.spent += url.length * COST;
  let out = "";
  let separators = 0;
  let segment = "";
  let isId = false;
  let mayDiffer = true;
  // In latin1 every byte of UTF-8 is a character.
  for (const char of Buffer.from(url).toString("latin1")) {
    if (char === "?" || char === "&" || char === "#") return out + (isId ? "*" : segment);
    if (char === "/") {
      out += segmentOrMask(segment, isId);
      if (++separators >= MAX_SEPARATORS) return out;
      out += "/";
      [segment, isId, mayDiffer] = ["", false, true];
    } else if (!isId) {
      segment += char;
      if (LETTERS.test(char)) continue;
      isId = !(mayDiffer && segment.length === 2);
      mayDiffer = false;
    }
  }
  return out + segmentOrMask(segment, isId);
}

const LETTERS = /[a-zA-Z\-_. ]/;

function segmentOrMask(segment: string, isId: boolean): string {
  return isId || !looksLikeWords(segment) ? "*" : segment;
}

/** Pairs that are less likely than this on average, as a geometric mean, are no words. The Collector uses the same. */
const MIN_LIKELIHOOD = 0.0150993;
const CODE_OF_A = 97;
const SPACE = 26;
const LETTER_COUNT = 27;

function looksLikeWords(text: string): boolean {
  let [sum, pairs] = [0, 0];
  let previous = -1;
  for (const char of text.toLowerCase()) {
    const letter = char === " " ? SPACE : char.charCodeAt(0) - CODE_OF_A;
    if (letter < 0 || letter > SPACE || (letter === SPACE && char !== " ")) continue;
    if (previous >= 0) {
      sum += likelihoods()[previous * LETTER_COUNT + letter]!;
      pairs++;
    }
    previous = letter;
  }
  return pairs === 0 || Math.exp(sum / pairs) > MIN_LIKELIHOOD;
}

let computed: Float64Array | undefined;

/** Logarithms of how likely each letter is to follow each other one. */
function likelihoods(): Float64Array {
  computed ??= Float64Array.from(
    PAIRS.flatMap((row) => {
      const counts = row.split(" ").map((count) => Number(count) + SMOOTHING);
      const total = counts.reduce((sum, count) => sum + count, 0);
      return counts.map((count) => Math.log(count / total));
    }),
  );
  return computed;
}

/** Is added to each count, so that no pair is impossible. */
const SMOOTHING = 10;

/**
 * How often each of `a` to `z` and the space follows each of them, in six megabytes of English books and word lists.
 */
const PAIRS: readonly string[] = [
  "67 7901 16186 19234 944 3680 7463 484 15788 338 4441 33291 10609 84299 129 8252 12 40546 38728 57989 4322 8433 3655 564 10537 519 26879",
  "5702 420 163 136 22677 4 1 5 2608 482 1 8628 151 71 8570 8 0 4825 1650 655 8643 122 24 0 6908 0 633",
  "17913 2 3082 57 25433 12 0 21452 7698 1 5108 5459 19 11 29239 2 234 4932 412 13251 5785 1 11 0 1416 26 3020",
  "4958 113 67 2125 28579 219 889 229 17456 375 86 2138 812 526 9069 39 50 5457 5155 145 3766 772 163 0 2023 2 119504",
  "27737 1086 14985 54833 14733 6437 4299 1071 7044 187 542 19662 14426 56236 3110 7322 1158 84986 49373 14664 1434 9999 5462 7143 6564 259 198250",
  "7390 33 53 14 10103 6279 48 13 10111 4 9 2755 7 45 17462 19 0 11114 302 4250 3512 0 38 0 244 0 43252",
  "6425 8 19 86 13186 24 916 10182 5364 0 8 3260 208 2222 5524 23 1 7307 1606 660 2843 0 38 0 252 7 33527",
  "43938 171 83 145 141072 103 10 35 39748 2 100 374 548 348 22551 19 2 3013 570 6769 2865 11 172 0 1912 1 27530",
  "8909 3254 22558 14558 15358 7354 9194 30 583 2 1924 16782 15275 98267 25431 2650 126 12062 46930 44658 533 8025 13 755 1 1466 8255",
  "634 5 6 0 1618 3 4 2 17 0 3 1 2 0 1857 1 2 5 6 3 2221 0 3 0 0 0 42",
  "853 18 65 5 9585 50 25 843 5394 3 8 650 67 3049 681 7 1 124 1593 30 756 13 130 0 288 0 7707",
  "20272 264 617 11225 32927 3100 199 75 22271 2 1370 24838 1234 287 16901 712 2 681 4043 4104 4286 1196 819 0 19002 26 25403",
  "21612 3131 167 17 31883 196 1 23 10891 3 7 243 3266 424 13449 8409 0 500 3622 116 3884 2 29 0 4057 0 18735",
  "11901 422 16406 63345 29584 2910 43622 389 13362 685 2632 3502 895 3388 20324 170 367 263 17052 37496 2681 1706 274 199 3819 44 83361",
  "2373 2232 5321 6446 1199 43588 1927 859 4376 374 4550 15205 22829 65482 11397 7365 38 43958 13171 16891 42073 11065 16591 481 1537 163 41953",
  "11640 37 135 10 17392 138 31 2572 6927 11 28 9070 160 57 11877 6043 0 16507 2092 3649 4023 0 73 0 663 0 5224",
  "0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 4565 0 0 0 0 0 9",
  "23190 749 4033 7290 73240 1422 3983 718 28546 15 2368 2828 7171 6038 29786 1343 26 7990 16680 11956 5657 2242 572 2 11668 85 53946",
  "13043 563 5381 153 37313 657 116 17501 20130 13 3401 2908 3274 618 16587 6841 282 75 19431 38870 12438 114 1478 0 1771 6 119921",
  "19017 112 1257 23 43595 337 84 149372 42424 3 18 5440 1076 321 43687 121 0 14173 11397 8068 9142 22 2529 8 6740 144 92793",
  "3450 3302 5389 2478 5201 908 5679 47 3312 2 269 14489 4568 17139 302 6230 8 20613 19279 19423 3 147 2 82 77 705 5258",
  "4420 1 0 10 31084 0 3 1 9136 1 9 216 0 533 3202 0 0 89 627 8 87 2 7 1 262 0 2291",
  "20230 40 38 467 15055 97 20 19709 17133 4 81 413 18 3989 7997 15 0 1025 1426 340 42 0 57 0 93 2 11370",
  "1029 0 1294 5 834 19 0 123 1236 0 0 6 2 0 105 2210 7 86 21 1516 115 118 1 103 47 0 759",
  "1744 183 300 170 4550 237 67 46 1827 2 39 724 977 354 9099 730 0 258 3667 1217 64 30 156 28 14 27 57560",
  "312 0 1 27 1589 1 0 155 380 0 4 73 64 17 703 0 0 0 2 1 169 4 1 0 32 83 160",
  "119755 45049 41912 29515 22365 39536 16569 63759 65786 3494 5294 23568 36134 22812 73356 35591 2009 26015 69191 160533 11784 7538 62523 420 9364 203 38423",
];
