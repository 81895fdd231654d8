/** Colours for blocks of code: each language is a list of what its words look like. The first pattern that fits wins. */

const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/;
const NUMBER = /\b\d[\d_]*(?:\.\d+)?(?:[a-zA-Z%]+)?\b/;
const VARIABLE = /\$\{[^}\n]*\}|\$\w+/;

const JAVASCRIPT = [
  ["comment", /\/\/[^\n]*|\/\*[\s\S]*?\*\//],
  ["string", /`(?:[^`\\]|\\.)*`/],
  ["string", STRING],
  ["number", NUMBER],
  [
    "keyword",
    /\b(?:async|await|break|case|catch|class|const|continue|default|else|export|extends|false|finally|for|from|function|if|implements|import|in|instanceof|interface|let|new|null|of|readonly|return|static|switch|this|throw|true|try|type|typeof|undefined|while|yield)\b/,
  ],
];

const LANGUAGES = {
  yaml: [
    ["comment", /(?<=^|\s)#[^\n]*/m],
    ["key", /(?<=^|[\s{,-])"?[\w./%*-]+"?(?=:(?:\s|$))/m],
    ["variable", VARIABLE],
    ["string", STRING],
    ["keyword", /\b(?:true|false|null)\b/],
    ["number", NUMBER],
  ],
  json: [
    ["key", /"(?:[^"\\\n]|\\.)*"(?=\s*:)/],
    ["string", STRING],
    ["keyword", /\b(?:true|false|null)\b/],
    ["number", /-?\b\d[\d.eE+-]*/],
  ],
  sh: [
    ["comment", /(?<=^|\s)#[^\n]*/m],
    ["string", STRING],
    ["variable", VARIABLE],
    ["keyword", /(?<=^|[|&;]\s*)(?:sudo |npx )?[\w./-]+(?=\s|$)/m],
    ["key", /(?<=\s)--?[\w-]+/],
  ],
  sql: [
    ["comment", /--[^\n]*/],
    ["string", STRING],
    [
      "keyword",
      /\b(?:select|insert|into|values|update|set|delete|from|where|create|table|index|on|primary|key|not|null|default|and|or|order|by|limit|begin|commit|grant|to)\b/i,
    ],
    ["number", NUMBER],
  ],
  ottl: [
    ["string", STRING],
    ["keyword", /\b(?:where|and|or|not|nil|true|false)\b/],
    ["key", /\b[A-Za-z_]+(?=\()/],
    ["number", NUMBER],
  ],
  js: JAVASCRIPT,
  ts: JAVASCRIPT,
};
LANGUAGES.bash = LANGUAGES.sh;

/** The code as HTML, its words in spans by their class; undefined for a language that has no colours. */
export function highlight(code, language, escaped) {
  const patterns = LANGUAGES[language];
  if (patterns === undefined) return undefined;
  const flags = `g${patterns.some(([, { flags: own }]) => own.includes("i")) ? "i" : ""}m`;
  const any = new RegExp(patterns.map(([, { source }]) => `(${source})`).join("|"), flags);
  let html = "";
  let end = 0;
  for (const match of code.matchAll(any)) {
    const which = match.slice(1).findIndex((group) => group !== undefined);
    html += `${escaped(code.slice(end, match.index))}<span class="code-${patterns[which][0]}">${escaped(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escaped(code.slice(end));
}
