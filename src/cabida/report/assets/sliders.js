// The sliders: what is set, kept in the address, said in words, and shown wherever the record shows it.
const MOST_FIRST = 7; // levers in sight; the rest are folded away
const slidersOf = (data, model, words, pictures) => {
  const {levers, options} = data, {tell} = words;
  const $ = (id) => document.getElementById(id);
  const fields = new Map([...document.querySelectorAll(".lever")].map((row) => [row.dataset.name, {
    row, slider: row.querySelector("[type=range]"), box: row.querySelector("[type=number]"), reset: row.querySelector("button"),
  }]));
  const rows = [...document.querySelectorAll("tr[data-option]")];
  const tiles = $("tiles"), tilesDecided = tiles ? [...tiles.children] : [];
  const body = rows.length ? rows[0].parentNode : null;
  let set = {}, spoken = 0, written = 0;

  const element = (name, content, css) => {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    if (css) made.className = css;
    return made;
  };
  const inUnit = (value, unit) => `${words.number(value, 6)}${unit ? ` ${unit}` : ""}`;
  // the decided value stands in the middle of its slider, unless it is an end of it
  const bend = ({low, high, value}) => {
    const ratio = (value - low) / (high - low);
    return ratio > 0 && ratio < 1 ? Math.log(ratio) / Math.log(0.5) : 1;
  };
  const place = (lever, value) => 1000 * ((value - lever.low) / (lever.high - lever.low)) ** (1 / bend(lever));
  const valueAt = (lever, at) => {
    if (at <= 0) return lever.low;
    if (at >= 1000) return lever.high;
    if (at === Math.round(place(lever, lever.value))) return lever.value;
    return Number((lever.low + (lever.high - lever.low) * (at / 1000) ** bend(lever)).toPrecision(4));
  };
  const within = (name, value) => Math.min(levers[name].high, Math.max(levers[name].low, value));

  // in the address: #set&NAME=VALUE, so that a link carries the settings
  const fromAddress = () => {
    const found = {}, told = location.hash.slice(1);
    if (told.split("&")[0] !== "set") return found;
    for (const [name, text] of new URLSearchParams(told.slice(4))) {
      const value = text.trim() === "" ? NaN : Number(text);
      if (Object.hasOwn(levers, name) && Number.isFinite(value) && within(name, value) !== levers[name].value)
        found[name] = within(name, value);
    }
    return found;
  };
  const toAddress = () => {
    const told = new URLSearchParams(Object.entries(set).map(([name, value]) => [name, String(value)])).toString();
    const hash = told ? `#set&${told}` : location.hash.startsWith("#set") ? " " : null;
    if (hash === null || hash === location.hash) return;
    try {
      history.replaceState(null, "", hash === " " ? location.href.split("#")[0] : hash);
    } catch {
      location.hash = hash.trim(); // a browser that lets no file rewrite its history
    }
  };
  const quoted = (text) => (/^[\w.,:=/@+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
  const command = () => [
    "cabida record", quoted(data.file), "--format html",
    ...Object.entries(set).map(([name, value]) => `--set ${quoted(`${name}=${value}`)}`),
  ].join(" ");

  const showFields = () => {
    for (const [name, {row, slider, box, reset}] of fields) {
      const value = set[name] ?? levers[name].value, moved = name in set;
      if (document.activeElement !== slider || valueAt(levers[name], Number(slider.value)) !== value)
        slider.value = Math.round(place(levers[name], value));
      if (document.activeElement !== box) box.value = Number(value.toPrecision(6));
      slider.setAttribute("aria-valuetext", inUnit(value, levers[name].unit));
      row.classList.toggle("moved", moved);
      reset.disabled = !moved;
    }
  };
  const showOptions = (found) => {
    found.order.forEach((which, at) => {
      const one = found.options[which], row = rows[which], before = options[which];
      if (!row) return;
      const status = !found.changed ? before.status : one.status;
      row.className = status;
      row.querySelector(".rank").textContent = found.changed ? at + 1 : before.rank;
      const badge = row.querySelector(".badge");
      badge.className = `badge ${status}`;
      badge.textContent = data.badges[status];
      row.querySelector("[data-live=cost]").textContent = words.money(one.cost);
      const [figure, interval] = words.unitCost(one.unit);
      row.querySelector("[data-live=unit] .value").textContent = figure;
      const beside = row.querySelector("[data-live=unit] .interval");
      if (beside) beside.textContent = interval;
      const told = row.querySelector("[data-live=change]");
      told.textContent = found.changed ? words.change(one.cost, before.cost) : "";
      const over = row.querySelector("[data-live=over]"), [broken] = one.over;
      over.hidden = !broken;
      over.textContent = broken ? tell("over", {cost: words.money(broken.money), most: words.money(broken.most)}) : "";
      body.append(row);
    });
  };
  const showTiles = (found) => {
    if (!tiles) return;
    if (!found.changed) return tiles.replaceChildren(...tilesDecided);
    const one = found.options[found.order[0]], [figure, interval] = words.unitCost(one.unit);
    const told = one.tiles.filter(([name]) => name !== data.words.best_head).map((tile) => [...tile]);
    told[0] = [told[0][0], words.money(one.cost), words.change(one.cost, options[found.order[0]].cost)];
    told[1] = [told[1][0], figure, interval];
    tiles.replaceChildren(...told.map(([name, value, below]) => {
      const box = element("div"), about = element("dd");
      about.append(element("b", value), " ", element("span", below));
      box.append(element("dt", name), about);
      return box;
    }));
  };
  const sentence = (found) => {
    const now = found.options[found.order[0]], before = options[found.decided];
    const values = {
      option: now.title, cost: words.money(now.cost), unit: `${words.unitCost(now.unit)[0]} ${data.perOutput}`, other: before.title,
    };
    return tell(found.order[0] === found.decided ? "stays" : "turns", values);
  };
  const showResult = (found) => {
    document.body.classList.toggle("what-if-set", found.changed);
    for (const one of document.querySelectorAll("[data-what-if]")) one.hidden = !found.changed;
    for (const one of document.querySelectorAll("[data-decided]")) one.hidden = found.changed;
    const list = $("what-if-changes"), now = found.changed ? sentence(found) : "";
    list.replaceChildren(...Object.entries(set).map(([name, value]) => {
      const item = element("li", `${levers[name].title}: `);
      item.append(
        element("s", inUnit(levers[name].value, levers[name].unit)), " → ", element("b", inUnit(value, levers[name].unit)),
      );
      return item;
    }));
    for (const one of document.querySelectorAll("[data-what-if-answer]")) one.textContent = now;
    const first = found.options[found.order[0]], other = found.order[0] !== found.decided;
    $("what-if-short").textContent = found.changed
      ? tell(other ? "short" : "short_same", {option: first.title.split(" · ")[0], cost: words.money(first.cost)}) : "";
    if ($("what-if-command")) $("what-if-command").textContent = found.changed ? command() : "";
    clearTimeout(spoken);
    spoken = setTimeout(() => { $("what-if-spoken").textContent = found.changed ? now : tell("as_decided"); }, 400);
  };

  const show = () => {
    const found = {...model.compute(set), decided: data.decided};
    showFields();
    showOptions(found);
    showTiles(found);
    showResult(found);
    pictures.show(found);
    clearTimeout(written);
    written = setTimeout(toAddress, 150);
    return found;
  };
  const put = (name, value) => {
    if (!Number.isFinite(value)) return;
    set = {...set, [name]: within(name, value)};
    if (set[name] === levers[name].value) delete set[name];
    show();
  };
  const all = (values) => {
    set = values;
    return show();
  };

  // what moves the unit costs most stands first
  const arrange = () => {
    const effect = (name) => {
      const {value} = levers[name], up = within(name, value * 1.1);
      const {options: moved} = model.compute({[name]: up === value ? within(name, value * 0.9) : up});
      return Math.max(0, ...moved.map((one, at) => Math.abs(one.unit[0] / options[at].unit[0] - 1) || 0));
    };
    const groups = [...document.querySelectorAll(".group[data-first]")];
    const ranked = groups.flatMap((group) => [...group.querySelectorAll(".lever")])
      .map((row) => [effect(row.dataset.name), row]).sort(([one], [two]) => two - one).map(([, row]) => row);
    $("levers-first").append(...ranked.slice(0, MOST_FIRST));
    $("levers-more").append(...ranked.slice(MOST_FIRST));
    $("levers-more").hidden = ranked.length <= MOST_FIRST;
    for (const group of groups) group.remove();
  };

  for (const [name, {slider, box, reset}] of fields) {
    slider.addEventListener("input", () => put(name, valueAt(levers[name], Number(slider.value))));
    box.addEventListener("change", () => {
      if (box.value.trim() !== "") put(name, Number(box.value));
      box.value = Number((set[name] ?? levers[name].value).toPrecision(6));
    });
    reset.addEventListener("click", () => {
      put(name, levers[name].value);
      slider.focus();
    });
  }
  for (const one of document.querySelectorAll("[data-reset-all]")) one.addEventListener("click", () => all({}));
  addEventListener("hashchange", () => location.hash.startsWith("#set") && all(fromAddress()));
  $("what-if").hidden = false;
  arrange();
  all(fromAddress());
  return {all};
};

const ODD = new Map([["\ue000inf", Infinity], ["\ue000-inf", -Infinity], ["\ue000nan", NaN]]);
const DATA = JSON.parse(document.getElementById("what-if-data").textContent, (_, value) => ODD.get(value) ?? value);
document.documentElement.classList.add("script");
const WORDS = wordsOf(DATA);
const MODEL = modelOf(DATA, FUNCTIONS);
const PICTURES = picturesOf(DATA, WORDS);
globalThis.cabida = {compute: MODEL.compute, words: WORDS};
if (Object.keys(DATA.levers).length) globalThis.cabida.set = slidersOf(DATA, MODEL, WORDS, PICTURES).all;
else PICTURES.show({...MODEL.compute({}), decided: DATA.decided});
