// What the pages of decisions do beyond links and forms: sliders beside numbers, keys in a tree, menus that close.
"use strict";
document.documentElement.classList.add("script");
const all = (what, where = document) => [...where.querySelectorAll(what)];

// Sliders: the decided value stands in the middle unless it is an end; an empty number is the decided one.
for (const row of all(".lever")) {
  const slider = row.querySelector("[type=range]"), box = row.querySelector("[type=number]"), reset = row.querySelector(".reset");
  const [value, low, high] = ["value", "low", "high"].map((name) => Number(row.dataset[name]));
  const ratio = (value - low) / (high - low), bend = ratio > 0 && ratio < 1 ? Math.log(ratio) / Math.log(0.5) : 1;
  const place = (one) => Math.round(1000 * Math.max(0, (one - low) / (high - low)) ** (1 / bend));
  const valueAt = (at) => {
    if (at <= 0) return low;
    if (at >= 1000) return high;
    return at === place(value) ? value : Number((low + (high - low) * (at / 1000) ** bend).toPrecision(4));
  };
  const show = () => {
    const moved = box.value !== "" && Number(box.value) !== value;
    row.classList.toggle("moved", moved);
    reset.hidden = !moved;
    slider.setAttribute("aria-valuetext", `${box.value || box.placeholder} ${row.querySelector(".unit").textContent}`);
  };
  const tell = () => {
    show();
    box.form.dispatchEvent(new Event("moved"));
  };
  slider.value = place(box.value === "" ? value : Number(box.value));
  slider.hidden = row.querySelector(".ends").hidden = false;
  show();
  slider.addEventListener("input", () => {
    const now = valueAt(Number(slider.value));
    box.value = now === value ? "" : now;
    tell();
  });
  box.addEventListener("input", () => {
    if (box.value !== "" && !box.checkValidity()) return;
    slider.value = place(box.value === "" ? value : Number(box.value));
    tell();
  });
  reset.addEventListener("click", () => {
    box.value = "";
    slider.value = place(value);
    tell();
    slider.focus();
  });
}

// Only what is set goes into the address.
addEventListener("htmx:config:request", (event) => {
  const form = event.target.closest?.("#levers, .filters"), body = event.detail?.ctx?.request?.body;
  if (!form || !(body instanceof FormData)) return;
  for (const [name, value] of [...body.entries()]) if (value === "") body.delete(name);
});

// A point of the picture leads to its row, or to the option's page where the row isn't shown.
addEventListener("click", (event) => {
  const link = event.target.closest?.(".pareto svg a");
  if (!link) return;
  const name = link.getAttribute("href").slice(1), row = document.getElementById(name);
  event.preventDefault();
  if (!row) return location.assign(`${location.pathname}/options/${name.replace("option-", "")}`);
  location.hash = name;
  row.querySelector("th a")?.focus({preventScroll: true});
});

// At most two are ticked: the third takes the place of the first.
const ticked = [];
addEventListener("change", (event) => {
  const box = event.target;
  if (box.name !== "pick") return;
  const at = ticked.indexOf(box.value);
  if (at >= 0) ticked.splice(at, 1);
  if (box.checked) ticked.push(box.value);
  while (ticked.length > 2) {
    const first = document.querySelector(`[name=pick][value="${CSS.escape(ticked.shift())}"]`);
    if (first) first.checked = false;
  }
});

// The tree: up and down through what is in sight, right opens, left closes or goes to what it is part of.
addEventListener("keydown", (event) => {
  const here = event.target;
  if (event.key === "Escape") {
    const open = here.closest?.(".menu[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    }
  }
  if (here.tagName !== "SUMMARY" || !here.closest(".explained")) return;
  const shown = all(".explained summary").filter((one) => one.checkVisibility());
  const box = here.parentElement, at = shown.indexOf(here);
  const go = {
    ArrowDown: () => shown[at + 1]?.focus(),
    ArrowUp: () => shown[at - 1]?.focus(),
    ArrowRight: () => (box.open ? box.querySelector("ul summary, ul a")?.focus() : (box.open = true)),
    ArrowLeft: () => (box.open ? (box.open = false) : box.parentElement.closest("details")?.querySelector("summary").focus()),
    Home: () => shown[0]?.focus(),
    End: () => shown.at(-1)?.focus(),
  }[event.key];
  if (!go) return;
  event.preventDefault();
  go();
});
addEventListener("click", (event) => {
  for (const menu of all(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

// What scrolls sideways can be reached by keyboard, and only that.
const reachable = () => {
  for (const box of all(".record .wide")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
addEventListener("resize", reachable);
addEventListener("toggle", reachable, true);
reachable();
