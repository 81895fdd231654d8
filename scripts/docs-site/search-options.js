/** Search options; the page must use the same for reading the index. */
export const SEARCH_OPTIONS = {
  fields: ["heading", "title", "text"],
  storeFields: ["title", "heading", "excerpt"],
  searchOptions: { boost: { heading: 4, title: 2 }, prefix: true, fuzzy: 0.15, combineWith: "AND" },
};
