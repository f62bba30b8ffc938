// How numbers read, and the small parts that every page is made of.
const page = JSON.parse(document.getElementById("report-data").textContent);
const $ = (id) => document.getElementById(id);

function significant(value, digits = 4) { return String(Number(value.toPrecision(digits))); }
function seconds(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1 || size === 0) return `${significant(value)} s`;
  return size >= 1e-3 ? `${significant(value * 1e3)} ms` : `${significant(value * 1e6)} µs`;
}
function bytes(value) {
  for (const [power, unit] of [[30, "GiB"], [20, "MiB"], [10, "KiB"]])
    if (value >= 2 ** power) return `${significant(value / 2 ** power)} ${unit}`;
  return `${significant(value)} B`;
}
function rate(value) {
  if (value === null || value === undefined) return "no limit";
  for (const [factor, unit] of [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"]])
    if (value >= factor) return `${significant(value / factor, 3)} ${unit}`;
  return `${significant(value, 3)} B/s`;
}
const whole = (value) => value.toLocaleString("en");
const percent = (value) => `${significant(100 * value, 3)} %`;
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function tip(event, text) {
  const box = $("tip");
  if (!text) { box.hidden = true; return; }
  box.textContent = text;
  box.hidden = false;
  const { clientX: x, clientY: y } = event;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
  box.style.top = `${y + height + 24 > innerHeight ? y - height - 12 : y + 16}px`;
}
function element(name, attributes = {}, text = null) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}
function table(caption, heads, rows) {
  const made = element("table");
  made.append(element("caption", {}, caption));
  const head = made.createTHead().insertRow();
  heads.forEach((text) => head.append(element("th", { scope: "col" }, text)));
  const body = made.createTBody();
  for (const cells of rows) { const row = body.insertRow(); for (const cell of cells) row.insertCell().textContent = cell; }
  return made;
}
