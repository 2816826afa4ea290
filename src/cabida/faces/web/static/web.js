// What every page does beyond links and forms. Everything works without it.
"use strict";
addEventListener("submit", (event) => {
  const asked = event.submitter?.dataset.confirm || event.target.dataset.confirm;
  if (asked && !confirm(asked)) event.preventDefault();
});
addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const from = document.querySelector(button.dataset.copy);
  await navigator.clipboard.writeText(from?.value ?? from?.textContent ?? "");
  const said = document.getElementById("said");
  if (said) {
    said.textContent = button.dataset.copied || "✓";
    setTimeout(() => (said.textContent = ""), 2500);
  }
});
// A job's page follows its events; when they end it goes where they say.
function follow(box) {
  const source = new EventSource(box.dataset.follow);
  const stop = () => source.close();
  addEventListener("pagehide", stop, { once: true });
  source.addEventListener("part", (event) => {
    if (!box.isConnected) return stop();
    box.innerHTML = event.data;
  });
  source.addEventListener("end", (event) => {
    stop();
    const to = JSON.parse(event.data).go;
    if (to) location.replace(to);
    else location.reload();
  });
}
document.querySelectorAll("[data-follow]").forEach(follow);
