// The pictures, drawn by Observable Plot over the still ones; each keeps its table, which follows the values set.
const picturesOf = (data, words) => {
  const Plot = globalThis.Plot, {tell, number} = words;
  const INK = "var(--ink)", SOFT = "var(--soft)", RULE = "var(--rule)";
  const PARTS = ["var(--p1)", "var(--p2)", "var(--p3)", "var(--p4)", "var(--p5)", "var(--p6)", "var(--p7)", "var(--p8)"];
  const LINES = ["var(--accent)", "var(--line2)", "var(--line3)"], DASHES = ["", "7 4", "2 4"];
  const STATUS = {chosen: "var(--accent)", satisfies: "var(--p1)", misses: "var(--p3)", ruled_out: "var(--card)"};
  const plain = {
    style: {background: "none", color: INK, fontFamily: "inherit", fontSize: "13px", overflow: "visible"},
    width: 520, r: {type: "identity"},
  };
  const tip = {stroke: RULE, fill: "var(--card)", fontSize: 13};
  const clip = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`);

  // where each number can stand without touching what stands already: [dx, dy] of a point, or null
  const BESIDE = [[0, -16], [17, 0], [-17, 0], [0, 16], [14, -14], [-14, -14], [14, 14], [-14, 14]];
  const beside = (places) => {
    const taken = [...places];
    return places.map(([x, y]) => {
      const free = BESIDE.find(([dx, dy]) => taken.every(([a, b]) => Math.abs(x + dx - a) > 13 || Math.abs(y + dy - b) > 12));
      if (free) taken.push([x + free[0], y + free[1]]);
      return free ?? null;
    });
  };
  // cost against time, the front joined; what is far beyond the others stands at the edge
  const frontier = ({label, lower, time, beyond, values}, found) => {
    const at = new Map(found.order.map((which, place) => [which, place]));
    const points = values.map(({option, y}) => {
      const one = found.options[option];
      return {
        x: one.unit[0] * data.unitScale, y, shown: Math.min(y, beyond), status: one.status,
        rank: found.changed ? at.get(option) + 1 : one.rank, front: one.onFront, title: one.title,
      };
    }).sort((one, two) => one.rank - two.rank);
    const front = points.filter((one) => one.front).sort((one, two) => one.x - two.x);
    const said = (value) => (time ? words.duration(value * time) : number(value));
    const settings = {
      ...plain, height: 340, marginLeft: 62, marginBottom: 44, marginTop: 40, marginRight: 26, ariaLabel: label,
      x: {label: data.moneyPerOutput, labelAnchor: "right", labelArrow: "none", ticks: 5, tickFormat: (one) => number(one), nice: true, zero: false},
      y: {label: `${label} (${lower ? tell("lower") : tell("higher")})`, labelArrow: "none", ticks: 5, tickFormat: said, grid: true, nice: true, zero: true},
      marks: [
        Plot.line(front, {x: "x", y: "shown", stroke: "var(--accent)", strokeWidth: 2, strokeOpacity: 0.55}),
        Plot.dot([...points].reverse(), {
          x: "x", y: "shown", r: (one) => (one.rank === 1 ? 9 : 6.5), fill: (one) => STATUS[one.status],
          stroke: (one) => (one.status === "ruled_out" ? SOFT : "none"), strokeWidth: 1.5,
          ariaLabel: (one) => `${one.rank} · ${one.title}: ${number(one.x)}, ${said(one.y)}`,
        }),
      ],
    };
    const scales = Plot.plot(settings), x = scales.scale("x"), y = scales.scale("y");
    const free = beside(points.map((one) => [x.apply(one.x), y.apply(one.shown)]));
    const numbers = points.flatMap((one, place) => (free[place] ? [Plot.text([one], {
      x: "x", y: "shown", text: () => `${one.rank}${one.y > beyond ? " ↑" : ""}`, dx: free[place][0], dy: free[place][1], fontWeight: 650, fill: INK,
    })] : []));
    const hover = Plot.tip(points, Plot.pointer({
      ...tip, x: "x", y: "shown",
      title: (one) => `${one.rank} · ${one.title}\n${number(one.x)} ${data.moneyPerOutput}\n${said(one.y)}`,
    }));
    return {
      plot: Plot.plot({...settings, marks: [...settings.marks, ...numbers, hover]}),
      keys: Object.keys(STATUS).filter((state) => points.some((one) => one.status === state)).map((state) => [data.statuses[state], `dot-${state}`]),
      rows: points.map((one) => [
        `${one.rank} · ${one.title}`, number(one.x), said(one.y), one.front ? tell("on_front") : "–", data.statuses[one.status],
      ]),
    };
  };

  // each option's bill, its lines stacked
  const bills = ({most, names: shownNames, parts: partOf}, found) => {
    const shown = found.order.slice(0, most);
    const rank = (which, at) => (found.changed ? at + 1 : found.options[which].rank);
    const names = [...new Set(shown.flatMap((which) => found.options[which].lines.map((line) => line.label)))];
    const label = (which, at) => `${rank(which, at)} · ${clip(found.options[which].title, Math.floor((plain.width - 110) / 7.4))}`;
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
      keys: shownNames.map((name, at) => [name, `key-${at + 1}`])
        .filter(([name]) => parts.some((one) => one.part === name && one.money)),
      rows: shown.map((which, at) => {
        const lines = new Map(found.options[which].lines.map((line) => [line.label, line.money]));
        return [label(which, at), ...names.map((name) => (lines.has(name) ? number(lines.get(name), 6) : "–")), words.money(found.options[which].cost)];
      }),
      header: [tell("option"), ...names, tell("total")],
    };
  };

  // what one output's cost hangs on
  const swings = ({bars, base}) => {
    const bothEnds = [["low_end", "key-2"], ["high_end", "key-3"]];
    const ends = bars.flatMap((one) => [
      {name: one.name, from: base, to: one.lowMoney, said: one.low, end: "low", wins: one.lowWins},
      {name: one.name, from: base, to: one.highMoney, said: one.high, end: "high", wins: one.highWins},
    ]);
    return {
      plot: Plot.plot({
        ...plain, height: 40 * bars.length + 58, marginLeft: 14, marginRight: 14, marginBottom: 38, marginTop: 6,
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
          Plot.text(bars, {frameAnchor: "left", y: "name", text: (one) => clip(one.name, Math.floor(plain.width / 7.4 - one.range.length)), textAnchor: "start", dx: -14, dy: -9, fill: INK}),
          Plot.text(bars, {frameAnchor: "right", y: "name", text: "range", textAnchor: "end", dx: 14, dy: -9, fill: SOFT}),
        ],
      }),
      keys: bothEnds.map(([key, css]) => [tell(key), css]),
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

  // the share of futures each option carries
  const flexibility = ({bars}) => ({
    plot: Plot.plot({
      ...plain, height: 40 * bars.length + 40, marginLeft: 14, marginRight: 22, marginBottom: 26, marginTop: 4, ariaLabel: tell("flexibility"),
      x: {domain: [0, 1], ticks: 5, tickFormat: (one) => words.percent(one, 3), label: null},
      y: {axis: null, domain: bars.map((one) => one.name), padding: 0.1},
      marks: [
        Plot.barX(bars, {x1: 0, x2: 1, y: "name", fill: "var(--track)", insetTop: 19, insetBottom: 2}),
        Plot.barX(bars, {
          x1: 0, x2: "share", y: "name", fill: "var(--accent)", insetTop: 19, insetBottom: 2,
          ariaLabel: (one) => `${one.name}: ${words.percent(one.share)}`,
        }),
        Plot.text(bars, {frameAnchor: "left", y: "name", text: (one) => clip(one.name, Math.floor((plain.width - 70) / 7.4)), textAnchor: "start", dx: -14, dy: -9, fill: INK}),
        Plot.text(bars, {frameAnchor: "right", y: "name", text: (one) => words.percent(one.share), textAnchor: "end", dx: 20, dy: -9, fill: SOFT}),
      ],
    }),
  });

  const DRAWN = {frontier, bills, swings, latency, flexibility};
  const kept = new Map(); // the tables as decided
  const twin = (figure, {header, rows}, changed) => {
    const table = figure.querySelector("table");
    if (!kept.has(figure)) kept.set(figure, [...table.children].map((one) => one.cloneNode(true)));
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
    const place = figure.querySelector(".live");
    figure.classList.add("drawn"); // so that there is a width to draw to
    plain.width = Math.min(560, Math.max(280, place.clientWidth || 520));
    const drawn = DRAWN[key](data.pictures[key], found);
    drawn.plot.setAttribute("role", "img");
    place.replaceChildren(...(drawn.keys ? [legend(drawn.keys)] : []), drawn.plot);
    if (drawn.rows) twin(figure, drawn, found.changed);
  };
  const legend = (keys) => {
    const made = document.createElement("p");
    made.className = "keys";
    made.append(...keys.map(([name, css]) => {
      const one = document.createElement("span");
      one.textContent = name;
      one.className = css;
      return one;
    }));
    return made;
  };
  let waiting = 0, drawnOnce = false, last = null;
  const show = (found) => {
    if (!Plot) return;
    last = found;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      for (const key of Object.keys(data.pictures))
        if (!drawnOnce || key === "frontier" || key === "bills") draw(key, found);
      drawnOnce = true;
    });
  };
  let wide = globalThis.innerWidth;
  addEventListener("resize", () => {
    if (!last || globalThis.innerWidth === wide) return;
    wide = globalThis.innerWidth;
    drawnOnce = false;
    show(last);
  });
  return {show};
};
