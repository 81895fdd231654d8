// Finds sections of the pages. This and the scripts it loads on the first key press are classic scripts, so that
// the search also works from a file: there a browser loads no modules and fetches nothing.
(() => {
  const root = document.currentScript.dataset.root;
  const input = document.getElementById("search");
  const results = document.getElementById("results");
  let loading;

  function load() {
    loading ??= Promise.all(["minisearch.js", "search-index.js", "query.js"].map(loadScript)).then(() => {
      const { index, options } = globalThis.sluiceSearch;
      return globalThis.MiniSearch.loadJS(index, options);
    });
    return loading;
  }

  function loadScript(name) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${root}/${name}`;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${name} cannot be loaded`));
      document.head.append(script);
    });
  }

  async function search() {
    const text = input.value.trim();
    const found = text === "" ? [] : globalThis.sluiceFind(await load(), text).slice(0, 12);
    if (text !== input.value.trim()) return;
    results.hidden = text === "";
    results.replaceChildren(...(found.length === 0 ? [item("Nothing found.")] : found.map(resultItem)));
  }

  function resultItem({ id, title, heading, excerpt }) {
    const link = document.createElement("a");
    link.href = `${root}/${id}`;
    link.textContent = heading === title ? title : `${title}: ${heading}`;
    const more = document.createElement("small");
    more.textContent = excerpt;
    link.append(more);
    return item(link);
  }

  function item(content) {
    const element = document.createElement("li");
    element.append(content);
    return element;
  }

  input.addEventListener("focus", () => void load());
  input.addEventListener("input", () => void search());
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.key === "/" && !isTyping) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape") {
      results.hidden = true;
    } else if (event.key === "Enter" && event.target === input) {
      results.querySelector("a")?.click();
    }
  });
  results.addEventListener("click", () => {
    results.hidden = true;
  });
})();
