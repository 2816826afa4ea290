// The form of a brief: what is typed is kept on this device until it is saved, and form and text stay in step.
"use strict";
(() => {
  const form = document.getElementById("brief");
  if (!form) return;
  const body = document.getElementById("brief-body");
  const kept = document.getElementById("kept");
  const key = "cabida.brief." + (form.dataset.id || "new");
  const touched = new Set();
  let sent = new Set();
  let stop = false;
  let removedFrom = "";
  const timers = {};
  const later = (name, wait, what) => {
    clearTimeout(timers[name]);
    timers[name] = setTimeout(what, wait);
  };
  const yaml = () => document.getElementById("yaml");

  // Drafts on this device.
  const read = () => {
    try {
      return JSON.parse(localStorage.getItem(key) || "null");
    } catch {
      return null;
    }
  };
  const forget = () => {
    try {
      localStorage.removeItem(key);
    } catch {}
  };
  const entries = () => [...new FormData(form)].filter(([name, value]) => typeof value === "string" && name !== "csrf");
  const keep = () => {
    try {
      localStorage.setItem(key, JSON.stringify({ at: Date.now(), entries: entries() }));
    } catch {}
  };
  const dataOf = (pairs) => {
    const data = new FormData();
    data.append("csrf", form.elements.csrf.value);
    for (const [name, value] of pairs) data.append(name, value);
    return data;
  };
  const post = (path, data) =>
    fetch(path, { method: "POST", body: data, credentials: "same-origin", headers: { "X-CSRF-Token": form.elements.csrf.value, Accept: "application/json, text/html" } });

  const draft = read();
  if (document.cookie.split("; ").includes("cabida_brief_kept=1")) {
    document.cookie = "cabida_brief_kept=; Max-Age=0; Path=/; SameSite=Strict";
    try {
      localStorage.removeItem("cabida.brief.new");
    } catch {}
  }
  const was = read();
  if (was && draft) {
    const plainly = (pairs) => JSON.stringify(pairs.filter(([name]) => !["version", "assume", "do"].includes(name)).map(([name, value]) => [name, value.replace(/\r\n/g, "\n").trim()]));
    if ("saved" in form.dataset || plainly(was.entries) === plainly(entries())) forget();
    else document.getElementById("draft").hidden = false;
  }
  document.getElementById("draft").addEventListener("click", async (event) => {
    const what = event.target.closest("[data-draft]")?.dataset.draft;
    if (!what) return;
    if (what === "use") {
      const answer = await post("/briefs/check", dataOf(was.entries));
      if (!answer.ok) return;
      body.innerHTML = await answer.text();
      for (const [name, value] of was.entries) if (name === "version") form.elements.version.value = value;
      window.htmx?.process(body);
    } else forget();
    document.getElementById("draft").hidden = true;
    body.querySelector("input:not([type=hidden]), select, textarea")?.focus();
  });

  // What is typed goes out a moment later; what is being typed is never written over.
  form.addEventListener("change", (event) => {
    if (event.target.dataset.alone !== undefined) event.stopPropagation();
    else touched.add(event.target.name);
  }, true);
  form.addEventListener("input", (event) => {
    touched.add(event.target.name);
    later("keep", 400, keep);
    if (event.target.dataset.alone === undefined) later("typed", 1200, () => form.dispatchEvent(new Event("typed")));
  });
  form.addEventListener("submit", (event) => {
    if (event.submitter?.classList.contains("unseen")) {
      event.preventDefault();
      form.dispatchEvent(new Event("typed"));
    } else if (event.submitter?.value?.startsWith("remove:")) removedFrom = event.submitter.closest("fieldset.listing")?.id || "";
    else stop = true;
  });
  form.addEventListener("click", (event) => {
    const gone = event.target.closest("button.remove");
    if (gone) removedFrom = gone.closest("fieldset.listing")?.id || "";
  });
  document.addEventListener("htmx:before:request", () => {
    sent = new Set(touched);
    touched.clear();
    clearTimeout(timers.typed);
  });
  document.addEventListener("htmx:error", () => {
    for (const name of sent) touched.add(name);
    keep();
    if (!navigator.onLine) kept.textContent = form.dataset.offline;
  });
  addEventListener("offline", () => {
    kept.textContent = form.dataset.offline;
    keep();
  });
  addEventListener("online", () => {
    kept.textContent = "";
    form.dispatchEvent(new Event("typed"));
  });
  let held = []; // what was typed since the answer was asked for
  document.addEventListener("htmx:before:swap", () => {
    held = [...form.elements].filter((one) => one.id && touched.has(one.name)).map((one) => [one.id, one.value, one.checked]);
  });
  document.addEventListener("htmx:after:swap", () => {
    for (const [id, value, checked] of held) {
      const one = document.getElementById(id);
      if (!one || one === document.activeElement) continue;
      if (one.value !== value) one.value = value;
      one.checked = checked;
    }
    held = [];
    for (const one of form.elements) {
      if (one === document.activeElement || touched.has(one.name)) continue;
      if (one.type === "checkbox") one.checked = one.defaultChecked;
      else if (one.tagName === "SELECT") {
        const chosen = [...one.options].find((option) => option.defaultSelected) || one.options[0];
        if (chosen) one.value = chosen.value;
      } else if (one.type === "text" || one.type === "date" || one.tagName === "TEXTAREA") {
        if (one.value !== one.defaultValue) one.value = one.defaultValue;
      }
    }
    if (removedFrom && (document.activeElement === document.body || !document.activeElement)) document.getElementById(removedFrom)?.focus();
    removedFrom = "";
    later("keep", 200, keep);
    if ("autosave" in form.dataset) later("save", 8000, save);
  });

  // A kept brief is saved as it grows, until somebody else changes it.
  async function save() {
    if (stop) return;
    try {
      const data = new FormData(form);
      data.set("do", "autosave");
      data.delete("log");
      const answer = await post(form.action, data);
      if (answer.status === 409) {
        stop = true;
        kept.textContent = form.dataset.overtaken;
      } else if (answer.ok) {
        const told = await answer.json();
        form.elements.version.value = told.version;
        kept.textContent = told.saved;
        if (told.saved) forget();
      }
    } catch {
      keep();
    }
  }

  // From what is told to the place it is about.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-to]");
    if (!link) return;
    const place = document.getElementById(link.dataset.to);
    if (!place) return;
    event.preventDefault();
    for (let above = place.parentElement; above; above = above.parentElement) if (above.tagName === "DETAILS") above.open = true;
    if (place.tagName === "DETAILS") place.open = true;
    const focus = place.matches("input, select, textarea, [tabindex]") ? place : place.querySelector("input:not([type=hidden]), select, textarea") || place;
    focus.focus({ preventScroll: true });
    place.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    const line = Number(link.dataset.line);
    if (place === yaml() && line) {
      const lines = place.value.split("\n");
      const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      place.setSelectionRange(start, start + (lines[line - 1] || "").length);
    }
  });
})();
