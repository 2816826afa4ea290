// The pictures, drawn by Observable Plot over the still ones; each keeps its table, which follows the values set.
const picturesOf = (data, words) => {
  const Plot = globalThis.Plot, {tell, number} = words;
  const INK = "var(--ink)", SOFT = "var(--soft)", RULE = "var(--rule)";
  const PARTS = ["var(--p1)", "var(--p2)", "var(--p3)", "var(--p4)", "var(--p5)", "var(--p6)", "var(--p7)", "var(--p8)"];
  const LINES = ["var(--accent)", "var(--line2)", "var(--line3)"], DASHES = ["", "7 4", "2 4"];
  const STATUS = {chosen: "var(--accent)", satisfies: "var(--p1)", misses: "var(--p3)", ruled_out: "var(--card)"};
  const plain = {
    style: {background: "none", color: INK, fontFamily: "inherit", fontSize: "13px", overflow: "visible"}, width: 520,
  };
  const tip = {stroke: RULE, fill: "var(--card)", fontSize: 13};
  const clip = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`);

  // cost against time, the front joined
  const frontier = ({label, lower, time, values}, found) => {
    const at = new Map(found.order.map((which, place) => [which, place]));
    const points = values.map(({option, y}) => {
      const one = found.options[option];
      return {
        x: one.unit[0] * data.unitScale, y, status: found.changed ? one.status : data.options[option].status,
        rank: found.changed ? at.get(option) + 1 : one.rank, front: one.onFront, title: one.title,
      };
    });
    const front = points.filter((one) => one.front).sort((one, two) => one.x - two.x);
    const said = (value) => (time ? words.duration(value * time) : number(value));
    return {
      plot: Plot.plot({
        ...plain, height: 330, marginLeft: 62, marginBottom: 44, marginTop: 30, marginRight: 24,
        ariaLabel: `${label}`,
        x: {label: data.moneyPerOutput, labelAnchor: "right", labelArrow: "none", ticks: 5, tickFormat: (one) => number(one), nice: true, zero: false},
        y: {label: `${label} (${lower ? tell("lower") : tell("higher")})`, labelArrow: "none", ticks: 5, tickFormat: said, grid: true, nice: true},
        marks: [
          Plot.ruleY([0], {stroke: RULE}),
          Plot.line(front, {x: "x", y: "y", stroke: "var(--accent)", strokeWidth: 2, strokeOpacity: 0.55, curve: "linear"}),
          Plot.dot(points, {
            x: "x", y: "y", r: (one) => (one.rank === 1 ? 9 : 6.5), fill: (one) => STATUS[one.status],
            stroke: (one) => (one.status === "ruled_out" ? SOFT : one.front ? INK : "none"), strokeWidth: 1.5,
            ariaLabel: (one) => `${one.rank} · ${one.title}: ${number(one.x)}, ${said(one.y)}`,
          }),
          Plot.text(points, {x: "x", y: "y", text: (one) => String(one.rank), dy: -15, fontWeight: 650, fill: INK}),
          Plot.tip(points, Plot.pointer({
            ...tip, x: "x", y: "y",
            title: (one) => `${one.rank} · ${one.title}\n${number(one.x)} ${data.moneyPerOutput}\n${said(one.y)}`,
          })),
        ],
      }),
      rows: points.sort((one, two) => one.rank - two.rank).map((one) => [
        `${one.rank} · ${one.title}`, number(one.x), said(one.y), one.front ? tell("on_front") : "–", data.statuses[one.status],
      ]),
    };
  };

  // each option's bill, its lines stacked
  const bills = ({most, names: shownNames, parts: partOf}, found) => {
    const shown = found.order.slice(0, most);
    const rank = (which, at) => (found.changed ? at + 1 : found.options[which].rank);
    const names = [...new Set(shown.flatMap((which) => found.options[which].lines.map((line) => line.label)))];
    const label = (which, at) => `${rank(which, at)} · ${clip(found.options[which].title, 46)}`;
    const parts = shown.flatMap((which, at) => found.options[which].lines.map((line) => ({
      option: label(which, at), part: partOf[line.label] ?? shownNames.at(-1), line: line.label, money: line.money,
    })));
    const wholes = shown.map((which, at) => ({option: label(which, at), money: found.options[which].cost}));
    return {
      plot: Plot.plot({
        ...plain, height: 44 * shown.length + 58, marginLeft: 0, marginRight: 4, marginBottom: 38, marginTop: 4,
        ariaLabel: tell("bills"),
        x: {label: data.moneyPerPeriod, labelAnchor: "right", labelArrow: "none", ticks: 5, tickFormat: (one) => number(one), grid: true},
        y: {axis: null, domain: wholes.map((one) => one.option), padding: 0.1},
        color: {domain: shownNames, range: PARTS},
        marks: [
          Plot.barX(parts, Plot.stackX({
            x: "money", y: "option", fill: "part", order: shownNames, insetTop: 20, insetBottom: 2, stroke: "var(--card)", strokeWidth: 0.7,
            title: (one) => `${one.line}: ${words.money(one.money)}`,
            ariaLabel: (one) => `${one.option}, ${one.line}: ${words.money(one.money)}`,
          })),
          Plot.text(wholes, {frameAnchor: "left", y: "option", text: "option", textAnchor: "start", dy: -10, fill: INK}),
          Plot.text(wholes, {frameAnchor: "right", y: "option", text: (one) => words.money(one.money), textAnchor: "end", dy: -10, fill: SOFT}),
          Plot.ruleX([0], {stroke: SOFT}),
        ],
      }),
      keys: shownNames,
      rows: shown.map((which, at) => {
        const lines = new Map(found.options[which].lines.map((line) => [line.label, line.money]));
        return [label(which, at), ...names.map((name) => (lines.has(name) ? number(lines.get(name), 6) : "–")), words.money(found.options[which].cost)];
      }),
      header: [tell("option"), ...names, tell("total")],
    };
  };

  // what one output's cost hangs on
  const swings = ({bars, base}) => {
    const ends = bars.flatMap((one) => [
      {name: one.name, from: base, to: one.lowMoney, said: one.low, end: "low", wins: one.lowWins},
      {name: one.name, from: base, to: one.highMoney, said: one.high, end: "high", wins: one.highWins},
    ]);
    return {
      plot: Plot.plot({
        ...plain, height: 40 * bars.length + 58, marginLeft: 0, marginRight: 8, marginBottom: 38, marginTop: 6,
        ariaLabel: tell("swings"),
        x: {label: data.moneyPerOutput, labelAnchor: "right", labelArrow: "none", ticks: 5, tickFormat: (one) => number(one), grid: true, nice: true},
        y: {axis: null, domain: bars.map((one) => one.name), padding: 0.1},
        marks: [
          Plot.barX(ends, {
            x1: "from", x2: "to", y: "name", fill: (one) => (one.end === "low" ? "var(--p2)" : "var(--p3)"), insetTop: 19, insetBottom: 2,
            title: (one) => `${one.name}: ${one.said} → ${number(one.to)}${one.wins ? ` (${one.wins})` : ""}`,
            ariaLabel: (one) => `${one.name}: ${one.said}, ${number(one.to)}`,
          }),
          Plot.ruleX([base], {stroke: SOFT}),
          Plot.dot(ends.filter((one) => one.wins), {
            x: "to", y: "name", dy: 8, r: 5, fill: "var(--card)", stroke: "var(--bad)", strokeWidth: 2.5, title: "wins",
          }),
          Plot.text(bars, {frameAnchor: "left", y: "name", text: (one) => clip(one.name, 44), textAnchor: "start", dy: -9, fill: INK}),
          Plot.text(bars, {frameAnchor: "right", y: "name", text: (one) => `${one.low} – ${one.high}`, textAnchor: "end", dy: -9, fill: SOFT}),
        ],
      }),
    };
  };

  // share of requests served within a time
  const latency = ({curves, shares, limit, limitSaid, right}) => {
    const points = curves.flatMap((one, at) => one.seconds.map((x, place) => ({x: Math.min(x, right), y: shares[place], at, name: one.name})));
    return {
      plot: Plot.plot({
        ...plain, height: 320, marginLeft: 52, marginRight: 12, marginBottom: 40, marginTop: 14 + 20 * curves.length,
        ariaLabel: tell("latency"),
        x: {domain: [0, right], ticks: 6, tickFormat: words.duration, label: null},
        y: {domain: [0, 1], ticks: 5, tickFormat: (one) => words.percent(one, 3), grid: true, label: null},
        marks: [
          Plot.line(points, {x: "x", y: "y", z: "at", stroke: (one) => LINES[one.at], strokeDasharray: null, strokeWidth: 2.5}),
          ...(limit ? [
            Plot.ruleX([limit], {stroke: "var(--bad)", strokeWidth: 2, strokeDasharray: "4 3"}),
            Plot.text([limitSaid], {x: [limit], y: [0.06], text: [limitSaid], textAnchor: limit > right * 0.6 ? "end" : "start", dx: limit > right * 0.6 ? -6 : 6, fill: "var(--bad)", fontWeight: 600}),
          ] : []),
          ...curves.map((one, at) => Plot.text([one.name], {frameAnchor: "top-left", text: [`━ ${one.name}`], dy: -14 - 20 * (curves.length - at - 1), fill: LINES[at], textAnchor: "start"})),
          Plot.tip(points, Plot.pointer({...tip, x: "x", y: "y", title: (one) => `${one.name}\n${words.percent(one.y, 3)}: ${words.duration(one.x)}`})),
        ],
      }),
    };
  };

  const DRAWN = {frontier, bills, swings, latency};
  const kept = new Map(); // the tables as decided
  const twin = (figure, {header, rows}, changed) => {
    const table = figure.querySelector("table");
    if (!kept.has(figure)) kept.set(figure, table.innerHTML === "" ? [] : [...table.children].map((one) => one.cloneNode(true)));
    if (!changed) return table.replaceChildren(...kept.get(figure).map((one) => one.cloneNode(true)));
    const row = (cells, name) => {
      const made = document.createElement("tr");
      for (const cell of cells) {
        const one = document.createElement(name);
        one.textContent = cell;
        if (name === "th") one.scope = "col";
        made.append(one);
      }
      return made;
    };
    const body = document.createElement("tbody");
    body.append(...rows.map((cells) => row(cells, "td")));
    if (header) {
      const head = document.createElement("thead");
      head.append(row(header, "th"));
      return table.replaceChildren(head, body);
    }
    return table.tBodies[0].replaceWith(body);
  };
  const draw = (key, found) => {
    const figure = document.getElementById(`figure-${key}`);
    if (!figure) return;
    const drawn = DRAWN[key](data.pictures[key], found), place = figure.querySelector(".live");
    drawn.plot.setAttribute("role", "img");
    place.replaceChildren(...(drawn.keys ? [legend(drawn.keys)] : []), drawn.plot);
    figure.classList.add("drawn");
    if (drawn.rows) twin(figure, drawn, found.changed);
  };
  const legend = (names) => {
    const made = document.createElement("p");
    made.className = "keys";
    made.append(...names.map((name, at) => {
      const one = document.createElement("span");
      one.textContent = name;
      one.className = `key-${(at % PARTS.length) + 1}`;
      return one;
    }));
    return made;
  };
  let waiting = 0, drawnOnce = false;
  const show = (found) => {
    if (!Plot) return;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      for (const key of Object.keys(data.pictures))
        if (!drawnOnce || key === "frontier" || key === "bills") draw(key, found);
      drawnOnce = true;
    });
  };
  return {show};
};
