// Brings the current page into view in the list of pages, and adds a button to every block of code that copies it.
(() => {
  // The current page is in view even in a long list.
  const current = document.querySelector("nav [aria-current]");
  current?.closest("div").scrollTo({ top: current.offsetTop - 200 });

  for (const code of document.querySelectorAll("pre > code")) {
    const block = document.createElement("div");
    block.className = "block";
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => {
        button.textContent = "Copy";
      }, 2000);
    });
    code.parentElement.replaceWith(block);
    block.append(code.parentElement, button);
  }
})();
