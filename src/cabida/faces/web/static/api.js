// The command of an operation into the clipboard; what is linked to stands open.
"use strict";
for (const button of document.querySelectorAll(".copy")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "✓";
      setTimeout(() => { button.textContent = button.dataset.said; }, 1500);
    } catch { getSelection().selectAllChildren(button.previousElementSibling); }
  });
  button.dataset.said = button.textContent;
}
const opened = () => {
  const one = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  if (one && one.tagName === "DETAILS") one.open = true;
};
addEventListener("hashchange", opened);
opened();
