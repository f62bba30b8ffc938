// The Gantt chart: a row a node, or a row a link, in groups by cluster; only the rows in sight are drawn.
const ROW = 20, HEAD = 24, GUTTER = 168, FEW_ROWS = 140;
const box = $("timeline");
const sheet = box.querySelector("canvas");
const chart = { rows: [], by: "node", openGroups: new Set(), from: 0, to: 1, at: 0, groups: [] };

// Groups of rows: nodes by cluster, links by pair of clusters; each row knows its bars.
function groupsOf(plan) {
  const row = (node, name) => ({ key: node, name, node, sends: plan.leaving[node], receives: plan.entering[node] });
  if (chart.by === "rank")
    return [{ key: "ranks", name: "ranks", rows: hosts.map((node, rank) => row(node, `${rank} ${platform.nodes[node]}`)) }];
  if (chart.by === "node") {
    return platform.clusters.map((_, cluster) => ({
      key: `n${cluster}`, name: clusterName(cluster),
      rows: membersOf[cluster].map((node) => row(node, platform.nodes[node])),
    }));
  }
  const { source, target, held } = plan.columns;
  const links = new Map();
  for (let at = 0; at < plan.columns.length; at++) {
    const key = source[at] * 4294967296 + target[at];
    const link = links.get(key) ?? { source: source[at], target: target[at], sends: [], held: 0 };
    link.sends.push(at);
    link.held += held[at];
    links.set(key, link);
  }
  const groups = new Map();
  for (const link of [...links.values()].sort((one, other) => other.held - one.held)) {
    const to = link.target === SEVERAL ? "several" : clusterName(platform.cluster_of[link.target]);
    const from = clusterName(platform.cluster_of[link.source]);
    const name = from === to ? `inside ${from}` : `${from} to ${to}`;
    if (!groups.has(name)) groups.set(name, { key: `l${name}`, name, rows: [] });
    const ends = `${platform.nodes[link.source]} to ${link.target === SEVERAL ? "several" : platform.nodes[link.target]}`;
    groups.get(name).rows.push({ key: ends, name: ends, link, sends: link.sends, receives: [] });
  }
  return [...groups.values()];
}

function layRows() {
  const plan = thePlan();
  if (!plan.columns) return;
  chart.groups = groupsOf(plan);
  $("timeline-hint").textContent = (chart.by !== "link"
    ? "Upper half of a row: sends; lower half: receives; green: the node has all. " : "A bar is a transfer over the link. ") +
    "Red dashes: the bound. Arrow keys move the row and the time, + and - zoom, Enter opens a group or a node.";
  const rows = d3.sum(chart.groups, (group) => group.rows.length);
  const alone = chart.groups.length === 1;
  if (chart.fresh) { chart.openGroups = new Set(rows <= FEW_ROWS || alone ? chart.groups.map((group) => group.key) : []); chart.fresh = false; }
  $("open-all").textContent = chart.groups.every((group) => chart.openGroups.has(group.key)) ? "Close all groups" : "Open all groups";
  $("open-all").hidden = alone;
  chart.rows = [];
  for (const group of chart.groups) {
    if (!alone) chart.rows.push({ group, name: group.name });
    if (chart.openGroups.has(group.key)) chart.rows.push(...group.rows);
  }
  chart.at = Math.min(chart.at, chart.rows.length - 1);
  box.querySelector(".spacer").style.height = `${HEAD + chart.rows.length * ROW}px`;
  drawTimeline();
}

const xOf = (width) => d3.scaleLinear([chart.from, chart.to], [GUTTER, width - 8]);

function drawTimeline() {
  const plan = thePlan();
  if (!plan.columns) return;
  const width = box.clientWidth, height = box.clientHeight;
  const ratio = devicePixelRatio || 1;
  if (sheet.width !== Math.round(width * ratio) || sheet.height !== Math.round(height * ratio)) {
    sheet.width = Math.round(width * ratio);
    sheet.height = Math.round(height * ratio);
    sheet.style.width = `${width}px`;
    sheet.style.height = `${height}px`;
  }
  const ink = sheet.getContext("2d");
  ink.setTransform(ratio, 0, 0, ratio, 0, 0);
  ink.clearRect(0, 0, width, height);
  ink.font = "12px system-ui, sans-serif";
  ink.textBaseline = "middle";
  const x = xOf(width);
  const colours = { card: css("--card"), ink: css("--ink"), soft: css("--soft"), grid: css("--grid"), accent: css("--accent"), limit: css("--limit"), full: css("--full"), site: css("--site") };
  const colour = treeColours(plan);
  const first = Math.max(0, Math.floor(box.scrollTop / ROW));
  const last = Math.min(chart.rows.length, Math.ceil((box.scrollTop + height - HEAD) / ROW));
  for (let at = first; at < last; at++) drawRow(ink, plan, chart.rows[at], at, HEAD + at * ROW - box.scrollTop, x, width, colours, colour);
  // The head and the marks lie over the rows.
  ink.fillStyle = colours.card;
  ink.fillRect(0, 0, width, HEAD);
  ink.fillStyle = colours.soft;
  ink.textAlign = "center";
  for (const tick of x.ticks(Math.max(3, width / 140))) {
    if (x(tick) < GUTTER + 14 || x(tick) > width - 40) continue;
    ink.fillText(seconds(tick), x(tick), HEAD / 2);
    ink.fillRect(x(tick), HEAD - 4, 1, 4);
  }
  ink.save();
  ink.beginPath();
  ink.rect(GUTTER, 0, width - GUTTER, height);
  ink.clip();
  if (plan.bound_s !== null) upright(ink, x(plan.bound_s), height, colours.limit, [5, 4]);
  upright(ink, x(state.time), height, colours.accent, []);
  ink.fillStyle = colours.accent;
  ink.beginPath();
  ink.arc(x(state.time), HEAD - 3, 5, 0, 2 * Math.PI);
  ink.fill();
  ink.restore();
  box.dataset.rows = chart.rows.length;
}
function upright(ink, x, height, colour, dashes) {
  ink.setLineDash(dashes);
  ink.strokeStyle = colour;
  ink.lineWidth = 1.6;
  ink.beginPath();
  ink.moveTo(x, HEAD - 6);
  ink.lineTo(x, height);
  ink.stroke();
  ink.setLineDash([]);
}

function drawRow(ink, plan, row, at, top, x, width, colours, colour) {
  if (row.group) { ink.fillStyle = colours.site; ink.fillRect(0, top, width, ROW); }
  if (row.node !== undefined && row.node === state.node) { ink.fillStyle = colours.site; ink.fillRect(0, top, width, ROW); }
  ink.fillStyle = colours.grid;
  ink.fillRect(0, top + ROW - 1, width, 1);
  ink.save();
  ink.beginPath();
  ink.rect(GUTTER, top, width - GUTTER, ROW);
  ink.clip();
  if (row.group) drawLoad(ink, plan, row.group, top, x, width, colours);
  else {
    const half = row.receives.length || chart.by !== "link" ? (ROW - 3) / 2 : ROW - 4;
    drawBars(ink, plan, row.sends, "begin", "release", top + 1, half, x, colour);
    drawBars(ink, plan, row.receives, "into", "arrive", top + 1 + half, half, x, colour, 0.55);
    const finish = row.node === undefined ? null : plan.finish_s[row.node];
    if (finish !== null && row.node !== plan.root) { ink.fillStyle = colours.full; ink.fillRect(x(finish) - 1, top + 1, 2.5, ROW - 3); }
  }
  ink.restore();
  ink.textAlign = "left";
  ink.fillStyle = row.group ? colours.ink : colours.soft;
  ink.font = `${row.group ? "600 " : ""}12px system-ui, sans-serif`;
  if (row.group) triangle(ink, 11, top + ROW / 2, chart.openGroups.has(row.group.key));
  if (state.found.has(row.node)) { ink.fillStyle = colours.accent; ink.fillRect(2, top + 2, 4, ROW - 5); ink.fillStyle = colours.ink; }
  const counted = row.group ? `${row.name} · ${whole(row.group.rows.length)}` : row.name;
  const indent = row.group || chart.groups.length > 1 ? 20 : 10;
  ink.fillText(fitting(ink, counted, GUTTER - indent - 4), indent, top + ROW / 2);
  if (at === chart.at) {
    ink.strokeStyle = colours.accent;
    ink.lineWidth = 1.5;
    ink.strokeRect(1, top + 1, width - 2, ROW - 3);
  }
}
// The mark of a group: drawn, for not every font has it as a letter.
function triangle(ink, x, y, open) {
  ink.beginPath();
  const corners = open ? [[-5, -3], [5, -3], [0, 4]] : [[-3, -5], [4, 0], [-3, 5]];
  corners.forEach(([dx, dy], at) => (at ? ink.lineTo(x + dx, y + dy) : ink.moveTo(x + dx, y + dy)));
  ink.fill();
}
function fitting(ink, text, room) {
  if (ink.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && ink.measureText(`${text.slice(0, end)}...`).width > room) end -= 1;
  return `${text.slice(0, end)}...`;
}

function drawBars(ink, plan, bars, begins, ends, top, height, x, colour, alpha = 1) {
  const { columns } = plan;
  const begin = columns[begins], end = columns[ends], { tree, count, held } = columns;
  for (const at of bars) {
    if (state.hiddenTrees.has(tree[at]) || begin[at] > chart.to || end[at] < chart.from) continue;
    const left = x(begin[at]);
    const wide = Math.max(1, x(end[at]) - left);
    // A run of transfers is as strong as its share of the time that it really holds the port.
    const strong = count[at] === 1 ? 1 : Math.max(0.25, Math.min(1, held[at] / (columns.release[at] - columns.begin[at])));
    ink.globalAlpha = alpha * strong;
    ink.fillStyle = colour(tree[at]);
    ink.fillRect(left, top, wide > 4 ? wide - 1 : wide, height);
  }
  ink.globalAlpha = 1;
}

// A closed group: how much of its members' sending time is used, from 0 to 1, as an area.
function drawLoad(ink, plan, group, top, x, width, colours) {
  const wide = Math.max(1, Math.floor(width - GUTTER));
  const step = (chart.to - chart.from) / wide;
  const load = new Float32Array(wide + 1);
  const { columns } = plan;
  for (const row of group.rows) for (const at of row.sends) {
    const begin = columns.begin[at], end = Math.max(columns.release[at], begin + step / 4);
    const strong = Math.min(1, columns.held[at] / (end - begin));
    const low = Math.max(0, Math.floor((begin - chart.from) / step)), high = Math.min(wide, Math.ceil((end - chart.from) / step));
    for (let cell = low; cell < high; cell++) {
      const left = chart.from + cell * step;
      load[cell] += strong * Math.max(0, Math.min(end, left + step) - Math.max(begin, left)) / step;
    }
  }
  ink.fillStyle = colours.accent;
  ink.globalAlpha = 0.55;
  for (let cell = 0; cell < wide; cell++) {
    const part = Math.min(1, load[cell] / group.rows.length);
    if (part > 0) { const high = Math.max(1, part * (ROW - 3)); ink.fillRect(GUTTER + cell, top + ROW - 2 - high, 1, high); }
  }
  ink.globalAlpha = 1;
}

function aboutRow() {
  const row = chart.rows[chart.at], plan = thePlan();
  if (!row) return;
  if (row.group) { $("row-about").textContent = `${row.name}: ${whole(row.group.rows.length)} ${chart.by === "link" ? "links" : "nodes"}, ${chart.openGroups.has(row.group.key) ? "open" : "closed: the area is the share of their sending time in use"}`; return; }
  const held = d3.sum(row.sends, (at) => plan.columns.held[at]), sent = d3.sum(row.sends, (at) => plan.columns.count[at]);
  const busy = plan.makespan_s ? `, busy ${percent(Math.min(1, held / plan.makespan_s))} of the time` : "";
  $("row-about").textContent = `${row.name}: ${whole(sent)} transfers sent${busy}` +
    (row.node === undefined ? "" : `, ${whole(d3.sum(row.receives, (at) => plan.columns.count[at]))} received, complete at ${seconds(plan.finish_s[row.node])}`);
}

function zoomTime(factor, about = state.time) {
  const all = clockEnd() || 1;
  const span = Math.min(all, Math.max(all / 5000, (chart.to - chart.from) * factor));
  const part = (about - chart.from) / (chart.to - chart.from);
  moveTime(about - span * Math.min(1, Math.max(0, part)), span);
}
function moveTime(from, span = chart.to - chart.from) {
  const all = clockEnd() || 1;
  chart.from = Math.max(0, Math.min(from, all - span));
  chart.to = chart.from + span;
  drawTimeline();
}
function openRow(at) {
  const row = chart.rows[at];
  if (!row) return;
  if (row.group) {
    const { key } = row.group;
    if (chart.openGroups.has(key)) chart.openGroups.delete(key); else chart.openGroups.add(key);
    layRows();
  } else if (row.node !== undefined) chooseNode(row.node);
  else chooseNode(row.link.source);
  aboutRow();
}
function goToRow(at) {
  chart.at = Math.max(0, Math.min(chart.rows.length - 1, at));
  const top = chart.at * ROW;
  if (top < box.scrollTop) box.scrollTop = top;
  if (top + ROW > box.scrollTop + box.clientHeight - HEAD) box.scrollTop = top + ROW + HEAD - box.clientHeight;
  aboutRow();
  drawTimeline();
}

box.addEventListener("scroll", drawTimeline);
box.addEventListener("keydown", (event) => {
  const page = Math.floor((box.clientHeight - HEAD) / ROW);
  const span = chart.to - chart.from;
  const keys = {
    ArrowDown: () => goToRow(chart.at + 1), ArrowUp: () => goToRow(chart.at - 1),
    PageDown: () => goToRow(chart.at + page), PageUp: () => goToRow(chart.at - page),
    Home: () => goToRow(0), End: () => goToRow(chart.rows.length - 1),
    ArrowRight: () => setTime(state.time + span / 100), ArrowLeft: () => setTime(state.time - span / 100),
    "+": () => zoomTime(0.6), "=": () => zoomTime(0.6), "-": () => zoomTime(1 / 0.6), 0: () => zoomTime(1e9),
    Enter: () => openRow(chart.at), " ": () => openRow(chart.at),
  };
  if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  keys[event.key]();
});
box.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.shiftKey) return;
  event.preventDefault();
  if (event.ctrlKey) zoomTime(event.deltaY > 0 ? 1.25 : 0.8, xOf(box.clientWidth).invert(event.offsetX));
  else moveTime(chart.from + Math.sign(event.deltaY || event.deltaX) * (chart.to - chart.from) / 12);
}, { passive: false });
let grabbed = false;
box.addEventListener("pointerdown", (event) => {
  const { left, top } = box.getBoundingClientRect();
  const x = event.clientX - left, y = event.clientY - top;
  if (x > box.clientWidth) return; // the scroll bar
  if (x >= GUTTER && y < HEAD) { grabbed = true; box.setPointerCapture(event.pointerId); setTime(xOf(box.clientWidth).invert(x)); return; }
  const at = Math.floor((y - HEAD + box.scrollTop) / ROW);
  if (y < HEAD || at >= chart.rows.length) return;
  chart.at = at;
  if (x < GUTTER || chart.rows[at].group) openRow(at);
  else { setTime(xOf(box.clientWidth).invert(x)); openRow(at); }
  goToRow(at);
});
box.addEventListener("pointermove", (event) => { if (grabbed) setTime(xOf(box.clientWidth).invert(event.clientX - box.getBoundingClientRect().left)); });
box.addEventListener("pointerup", () => { grabbed = false; });
for (const choice of document.querySelectorAll("input[name=rows]")) choice.addEventListener("change", () => {
  chart.by = choice.value;
  chart.fresh = true;
  chart.at = 0;
  layRows();
  aboutRow();
});
$("open-all").addEventListener("click", () => {
  const all = chart.groups.every((group) => chart.openGroups.has(group.key));
  chart.openGroups = new Set(all ? [] : chart.groups.map((group) => group.key));
  layRows();
});
$("fit").addEventListener("click", () => zoomTime(1e9));

watch(["plan", "rival"], () => { chart.fresh = true; chart.from = 0; chart.to = clockEnd() || 1; layRows(); aboutRow(); });
watch(["time", "trees", "theme", "node", "found"], drawTimeline);
