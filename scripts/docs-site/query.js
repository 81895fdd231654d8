// Turns what a person types into a query: "how do I drop debug logs" asks for drop (or filter, ...), debug and logs.
// A classic script like search.js, which uses it.
(() => {
  const FILLERS = new Set(
    "a about all an and any are as at be by can do does for from get has have how i if in into is it its make me my of on or our should so some that the their them then there this to us use used want we what when where which who why will with you your".split(
      " ",
    ),
  );
  /** Words for one thing: a search for one of them may find a page with another. */
  const SAME = [
    ["drop", "filter", "discard", "exclude"],
    ["delete", "remove"],
    ["mask", "redact", "pii", "gdpr", "personal"],
    ["secret", "password", "credential", "token"],
    ["duplicate", "duplicates", "dedup", "deduplication", "twice"],
    ["resend", "replay", "redeliver", "reprocess"],
    ["failed", "dead", "dlq", "undelivered"],
    ["restart", "reload"],
    ["core", "cores", "cpu", "workers"],
    ["slow", "performance", "throughput", "fast"],
    ["upgrade", "update", "migrate", "migration"],
    ["tls", "https", "certificate"],
    ["login", "auth", "authentication", "authenticate"],
    ["k8s", "kubernetes"],
    ["log", "logs"],
    ["trace", "traces", "span", "spans"],
    ["metric", "metrics"],
    ["throttle", "limit", "rate"],
    ["plugin", "plugins", "custom"],
    ["lost", "lose", "loss", "losing"],
  ];
  /** Pages that tell why or when something was made: they come behind those that tell how to use it. */
  const BACKGROUND = /^(docs\/(decisions|contributing)\/|CHANGELOG|CONTRIBUTING|bench\/)/;
  const boostDocument = (id) => (BACKGROUND.test(id) ? 0.2 : 1);
  const DROPPED_ENDINGS = /[?!.,;:'"]+/g;

  /** Every word must be on the page, or another word for the same. If no page has all of them, some are enough. */
  globalThis.sluiceFind = (index, text) => {
    const words = text.toLowerCase().replaceAll(DROPPED_ENDINGS, " ").split(/\s+/).filter(Boolean);
    const asked = words.filter((word) => !FILLERS.has(word));
    const queries = (asked.length === 0 ? words : asked).map((word) => ({
      combineWith: "OR",
      queries: [word, ...(SAME.find((group) => group.includes(word)) ?? []).filter((other) => other !== word)],
    }));
    const all = index.search({ combineWith: "AND", queries }, { boostDocument });
    return all.length > 0 ? all : index.search({ combineWith: "OR", queries }, { boostDocument });
  };
})();
