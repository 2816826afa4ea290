// What the values set make of every option: the decision's own equations, in the order of their inputs, and the rules
// by which it ranks (cabida.choose.what_if).
const modelOf = ({values, steps, levers, options, spending, tie}, functions) => {
  // the values as set, and which of them are worked out anew
  const run = (set) => {
    const now = values.slice(), moved = new Set();
    for (const [name, value] of Object.entries(set))
      for (const place of levers[name].places) {
        now[place] = value;
        moved.add(place);
      }
    for (const [place, which, ...inputs] of steps)
      if (inputs.some((one) => moved.has(one))) {
        now[place] = functions[which](inputs.map((one) => now[one]));
        moved.add(place);
      }
    return now;
  };
  // the budgets that a bill breaks, as what it takes over what is allowed
  const overBudget = (cost, capital) => {
    const runs = spending.runs_count, months = spending.horizon_months;
    const monthly = runs === null ? cost : cost * runs / months;
    const total = Math.max(cost * (runs === null ? months : runs), capital);
    const found = [];
    for (const [money, most] of [[monthly, spending.monthly_money], [total, spending.total_money]])
      if (most !== null && money > most) found.push({money, most, ratio: money / Math.max(most, 1e-9)});
    return found;
  };
  const worked = (one, now) => {
    const touched = one.touch.some((place) => now[place] !== values[place]);
    const read = (place, otherwise) => (touched && place !== null ? now[place] : otherwise);
    const cost = read(one.costPlace, one.cost), unit = read(one.unitPlace, one.unit[0]);
    const ratio = unit / one.unit[0];
    const ends = unit === one.unit[0] ? one.unit.slice(1)
      : one.unit[0] ? [one.unit[1] * ratio, one.unit[2] * ratio].sort((low, high) => low - high) : [unit, unit];
    const over = one.status === "ruled_out" ? [] : overBudget(cost, Math.max(0, ...one.capital.map((place) => now[place])));
    const status = one.status === "ruled_out" ? one.status : over.length || one.missesMore ? "misses" : "satisfies";
    return {
      ...one, cost, unit: [unit, ...ends], over, status, touched,
      lines: touched
        ? one.lines.map((line) => ({...line, money: read(line.place, line.money)})).filter((line) => line.money)
        : one.lines.filter((line) => line.decided),
    };
  };
  // how far over its budget an option is; null where it also misses something else, whose distance nobody kept
  const budgetRatio = ({cost, over, saysMore}) => {
    const plain = overBudget(cost, 0);
    const same = plain.length === over.length && plain.every((one, at) => one.money === over[at].money);
    return saysMore || !same || !plain.length ? null : Math.max(...plain.map((one) => one.ratio));
  };
  const ownFirst = (order, options) => {
    const able = order.filter((at) => options[at].status === "satisfies");
    const own = able.find((at) => options[at].had);
    if (own === undefined || own === able[0] || options[own].unit[0] <= 0) return order;
    const {cost, unit} = options[own], best = options[able[0]].unit[0];
    if (unit[0] - best > Math.max(tie.money / (cost / unit[0]), tie.share * best)) return order;
    return [own, ...order.filter((at) => at !== own)];
  };
  const orderOf = (options) => {
    const states = ["satisfies", "misses", "ruled_out"];
    const ratios = options.map((one) => (one.status === "misses" ? budgetRatio(one) : 1));
    const comparable = ratios.every((one) => one !== null);
    const key = ({status, unit, rank}, at) => {
      if (status === "satisfies") return [0, 1, unit[0]];
      return status === "misses" && comparable ? [1, ratios[at], unit[0]] : [states.indexOf(status), rank, 0];
    };
    const keys = options.map(key);
    const order = options.map((_, at) => at).sort((one, two) => {
      const at = keys[one].findIndex((part, place) => part !== keys[two][place]);
      return at < 0 ? 0 : keys[one][at] - keys[two][at];
    });
    return ownFirst(order, options);
  };
  // each option's figures and the order of the options; nothing set gives what was decided
  const compute = (set) => {
    const changed = Object.entries(set).some(([name, value]) => value !== levers[name].value);
    if (!changed)
      return {
        changed, order: options.map((_, at) => at),
        options: options.map((one) => ({...one, over: [], lines: one.lines.filter((line) => line.decided)})),
      };
    const now = run(set);
    const found = options.map((one) => worked(one, now));
    const order = orderOf(found);
    if (order.length && found[order[0]].status === "satisfies") found[order[0]].status = "chosen";
    return {changed, order, options: found};
  };
  return {compute};
};
