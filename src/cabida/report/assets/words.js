// Numbers as the rest of the record writes them (cabida.text and cabida.report.words), in the locale of the page.
const wordsOf = ({locale, currency, unitScale, words}) => {
  const formats = new Map();
  const fixed = (value, decimals, least = 0) => {
    const key = `${decimals} ${least}`;
    if (!formats.has(key))
      formats.set(key, new Intl.NumberFormat(locale, {
        maximumFractionDigits: decimals, minimumFractionDigits: least, useGrouping: "always",
      }));
    return formats.get(key).format(value === 0 ? 0 : value);
  };
  const whole = (value) => String(Math.round(Math.abs(value))).length;
  const number = (value, digits = 3) => {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "?" : value > 0 ? "∞" : "-∞";
    if (value === 0) return "0";
    const rounded = Number(value.toPrecision(digits)), size = Math.abs(rounded);
    if (size >= 1e15 || size < 1e-9) {
      const [head, power] = rounded.toExponential(digits - 1).split("e");
      return `${fixed(Number(head), digits - 1, digits - 1)}e${power}`;
    }
    return fixed(rounded, size >= 1 ? Math.max(0, digits - whole(size)) : digits - 1 - Math.floor(Math.log10(size) + 1e-12));
  };
  const money = (value) => `${Math.abs(value) >= 100 ? fixed(value, 0) : number(value)} ${currency}`;
  const decimal = (value, decimals) =>
    Number.isFinite(value) ? fixed(value, Math.max(0, decimals), Math.max(0, decimals)) : number(value);
  const at = (value, exponent) => exponent < 0
    ? Math.round(value * 10 ** -exponent) / 10 ** -exponent : Math.round(value / 10 ** exponent) * 10 ** exponent;
  const rounded = (value, exponent, mostRatio = 0.05) => {
    if (value && Math.abs(at(value, exponent) - value) > Math.abs(value) * mostRatio && exponent > Math.log10(Math.abs(value)) - 1)
      exponent = Math.floor(Math.log10(Math.abs(value))) - 1;
    return decimal(at(value, exponent), -exponent);
  };
  // the figure and its interval: ["540 ms", "[400–760]"]
  const span = (value, low, high, unit) => {
    const tail = unit ? ` ${unit}` : "";
    if (!Number.isFinite(value)) return [number(value), ""];
    if (!Number.isFinite(low) || !Number.isFinite(high))
      return [`${number(value, 2)}${tail}`, `[${number(low, 2)}–${number(high, 2)}]`];
    if (high - low <= Math.abs(value) * 1e-6) return [`${number(value, 4)}${tail}`, ""];
    const exponent = Math.floor(Math.log10((high - low) / 5));
    return [`${rounded(value, exponent, 0.005)}${tail}`, `[${rounded(low, exponent)}–${rounded(high, exponent)}]`];
  };
  const unitCost = ([value, low, high]) => span(value * unitScale, low * unitScale, high * unitScale, currency);
  const percent = (ratio, digits = 2) => `${number(ratio * 100, digits)} %`;
  const change = (now, before) => {
    const ratio = before ? now / before - 1 : NaN;
    return Number.isFinite(ratio) && Math.abs(ratio) >= 5e-4 ? `${ratio > 0 ? "+" : "−"}${percent(Math.abs(ratio))}` : "";
  };
  const duration = (seconds) => {
    const steps = [[1e-3, 1e-6, "µs"], [1, 1e-3, "ms"], [120, 1, "s"], [7200, 60, "min"], [172800, 3600, "h"]];
    if (!Number.isFinite(seconds)) return number(seconds);
    if (seconds === 0) return "0";
    const [, unit, name] = steps.find(([below]) => Math.abs(seconds) < below) ?? [0, 86400, words.days];
    return `${number(seconds / unit)} ${name}`;
  };
  const tell = (key, values = {}) => words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  return {number, money, span, unitCost, percent, change, duration, tell};
};
