// Predicted time against message size, both logarithmic: every planner, the limit, the plans, what was measured.
const STRONG = 6;
let chosenPlanners = null;

function drawSizes() {
  const { curves } = page;
  const holder = $("sizes");
  if (!curves) {
    const left = page.plans.every((plan) => plan.collective === "allgather") ? "planners are compared for broadcasts and scatters only" : "broadleaf report --sizes names the sizes at which the planners are compared";
    $("sizes-hint").textContent = `Left out: ${left}.`;
    $("sizes-table").hidden = true;
    return;
  }
  const points = (curves.collective === "bcast" ? page.measured : []).map((row) => ({ size: row.bytes, time: row.mean_s, row }));
  // What another collective or root takes has no place beside these curves.
  const alike = (plan) => plan.collective === curves.collective && (plan.root === null ? null : platform.nodes[plan.root]) === curves.root;
  const plans = page.plans.filter((plan) => plan.makespan_s > 0 && alike(plan)).map((plan) => ({ size: plan.message_bytes, time: plan.makespan_s, plan }));
  const wide = Math.max(240, holder.clientWidth), high = 430;
  // In a narrow window the names at the curves' ends would take the place of the curves: the buttons have the colours.
  const named = wide >= 480;
  const edge = { top: 10, right: named ? 162 : 20, bottom: 44, left: 66 };
  const times = [...curves.planners.flatMap(([, row]) => row), ...curves.bounds, ...points.map((p) => p.time), ...plans.map((p) => p.time)].filter((time) => time > 0);
  if (!times.length) { holder.replaceChildren(element("p", { class: "hint" }, "None of them takes any time here: there is nothing to draw.")); return; }
  const sizes = [...curves.sizes, ...points.map((p) => p.size), ...plans.map((p) => p.size)];
  const [smallest, largest] = d3.extent(sizes);
  const x = d3.scaleLog(smallest === largest ? [smallest / 2, largest * 2] : [smallest, largest], [edge.left, wide - edge.right]);
  const y = d3.scaleLog(d3.extent(times), [high - edge.bottom, edge.top]).nice();
  const drawing = d3.create("svg").attr("width", wide).attr("height", high).attr("viewBox", `0 0 ${wide} ${high}`).attr("role", "img")
    .attr("aria-label", "Predicted time of every planner against message size; the numbers stand in the table below");
  const decades = y.ticks().filter((tick) => Math.abs(Math.log10(tick) % 1) < 1e-9 || Math.abs(Math.log10(tick) % 1) > 1 - 1e-9);
  const ticks = decades.length >= 2 ? decades : y.ticks(6);
  drawing.append("g").attr("class", "gridline").selectAll("line").data(ticks).join("line").attr("x1", edge.left).attr("x2", wide - edge.right).attr("y1", y).attr("y2", y);
  drawing.append("g").attr("class", "axis").attr("transform", `translate(0,${high - edge.bottom})`).call(d3.axisBottom(x).tickValues(curves.sizes).tickFormat(bytes));
  drawing.append("g").attr("class", "axis").attr("transform", `translate(${edge.left},0)`).call(d3.axisLeft(y).tickValues(ticks).tickFormat(seconds));
  drawing.append("text").attr("class", "mark-name").attr("x", (edge.left + wide - edge.right) / 2).attr("y", high - 6).attr("text-anchor", "middle").text("message size");
  const line = d3.line().defined(([, time]) => time > 0).x(([size]) => x(size)).y(([, time]) => y(time));
  const used = plans.map(({ plan }) => plan.planner);
  chosenPlanners ??= new Set([...curves.planners.slice(0, STRONG).map(([name]) => name), ...used.filter((name) => curves.planners.some(([other]) => other === name))]);
  const colours = new Map([...chosenPlanners].map((name, at) => [name, css(`--tree-${at % 12}`)]));
  const ends = [];
  for (const [name, row] of [...curves.planners].reverse()) {
    const data = curves.sizes.map((size, at) => [size, row[at]]);
    const strong = chosenPlanners.has(name);
    const about = (event) => { const at = d3.leastIndex(curves.sizes, (size) => Math.abs(x(size) - d3.pointer(event, drawing.node())[0])); tip(event, `${name}: ${seconds(row[at])} for ${bytes(curves.sizes[at])}` + (row[at] && curves.bounds[at] ? `\n${significant(row[at] / curves.bounds[at])} times the bound` : "")); };
    const path = drawing.append("path").attr("class", strong ? "curve strong" : "curve").attr("d", line(data));
    if (strong) path.attr("stroke", null).style("stroke", colours.get(name));
    // A single size has no line: a dot says as much.
    if (curves.sizes.length === 1 && row[0] > 0) drawing.append("circle").attr("cx", x(curves.sizes[0])).attr("cy", y(row[0])).attr("r", 3.5).attr("fill", strong ? colours.get(name) : css("--tree-other"));
    drawing.append("path").attr("d", line(data)).attr("fill", "none").attr("stroke", "transparent").attr("stroke-width", 10).on("pointermove", about).on("pointerleave", (event) => tip(event, null));
    const last = data.filter(([, time]) => time > 0).at(-1);
    if (!strong || !last || !named) continue;
    const end = { name, y: y(last[1]), at: y(last[1]), x: x(last[0]), colour: colours.get(name) };
    ends.push(end);
  }
  drawing.append("path").attr("class", "limit").attr("d", line(curves.sizes.map((size, at) => [size, curves.bounds[at]])));
  const limit = curves.bounds.at(-1);
  if (limit > 0 && named) ends.push({ name: "limit", y: y(limit), at: y(limit), x: x(curves.sizes.at(-1)), colour: css("--limit") });
  // A curve that ends early has its name there: a line to the edge would look like more of the curve.
  for (const column of d3.group(ends, (end) => end.x).values()) spread(column, edge.top + 4, high - edge.bottom);
  for (const end of ends) {
    drawing.append("line").attr("x1", end.x + 3).attr("x2", end.x + 14).attr("y1", end.at).attr("y2", end.y).attr("stroke", end.colour).attr("stroke-opacity", 0.6);
    nameAt(drawing, end, end.x + 17, end.y + 4);
  }
  for (const { size, time, plan } of plans)
    drawing.append("circle").attr("cx", x(size)).attr("cy", y(time)).attr("r", 5).attr("fill", css("--ink")).on("pointermove", (event) => tip(event, `${plan.label}: ${plan.planner}, ${seconds(time)} for ${bytes(size)}`)).on("pointerleave", (event) => tip(event, null));
  for (const { size, time, row } of points)
    drawing.append("rect").attr("class", "measured").attr("x", x(size) - 5).attr("y", y(time) - 5).attr("width", 10).attr("height", 10).on("pointermove", (event) => tip(event, `measured: ${seconds(time)} for ${bytes(size)}\npredicted: ${seconds(row.predicted_s)}`)).on("pointerleave", (event) => tip(event, null));
  holder.replaceChildren(drawing.node());
  sizesLegend(curves, colours, plans.length, points.length > 0);
}
function nameAt(drawing, { name, colour }, x, y) {
  drawing.append("text").attr("x", x).attr("y", y).attr("font-size", 12).attr("fill", colour).text(name);
}

// Names at the curves' ends, moved apart where they would lie over each other.
function spread(ends, top, bottom) {
  const gap = 15;
  ends.sort((one, other) => one.y - other.y);
  for (let at = 1; at < ends.length; at++) ends[at].y = Math.max(ends[at].y, ends[at - 1].y + gap);
  const over = ends.length ? ends.at(-1).y - bottom : 0;
  if (over > 0) {
    ends.at(-1).y = bottom;
    for (let at = ends.length - 2; at >= 0; at--) ends[at].y = Math.max(top, Math.min(ends[at].y, ends[at + 1].y - gap));
  }
}

function sizesLegend(curves, colours, plans, measured) {
  const legend = $("sizes-legend");
  const focused = document.activeElement?.dataset?.planner;
  legend.replaceChildren();
  for (const [name] of curves.planners) {
    const button = element("button", { type: "button", "aria-pressed": chosenPlanners.has(name), "data-planner": name }, name);
    if (colours.has(name)) {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = colours.get(name);
      button.prepend(swatch, " ");
    }
    button.addEventListener("click", () => {
      if (chosenPlanners.has(name)) chosenPlanners.delete(name); else chosenPlanners.add(name);
      drawSizes();
    });
    legend.append(button);
    if (name === focused) button.focus();
  }
  const marks = [plans ? `dot: the plan${plans > 1 ? "s" : ""} of this page` : "", measured ? "square: measured" : "", "dashed: the limit"];
  legend.append(element("span", {}, marks.filter(Boolean).join(" · ")));
}

function sizesTable() {
  const { curves } = page;
  if (!curves) return;
  const heads = ["planner", ...curves.sizes.map(bytes)];
  const rows = [["(limit: no plan is faster)", ...curves.bounds.map(seconds)], ...curves.planners.map(([name, row]) => [name, ...row.map(seconds)])];
  $("sizes-table").querySelector(".scroll").replaceChildren(table("Predicted time of each planner with its best segment size", heads, rows));
  const left = Object.entries(curves.passed_over);
  const reasons = d3.rollups(left, (list) => list.map(([name]) => name).join(", "), ([, reason]) => reason).map(([reason, names]) => `${names}: ${reason}`);
  $("sizes-hint").textContent = `${curves.planners.length} planners of ${curves.collective}${curves.root === null ? "" : ` with root ${curves.root}`}, each with its best segment size; planners started within ${significant(curves.time_limit_s)} s per size.` +
    (reasons.length ? ` Not tried: ${reasons.join("; ")}.` : "");
}

function drawMeasured() {
  if (!page.measured.length) return;
  $("measured").hidden = false;
  const heads = ["size", "planner", "root", "calls", "measured, mean", "fastest", "predicted", "measured / predicted"];
  const rows = page.measured.map((row) => [
    bytes(row.bytes), row.planner, `rank ${row.root}`, whole(row.calls), seconds(row.mean_s), seconds(row.fastest_s),
    row.predicted_s === null ? `none: ${row.reason}` : seconds(row.predicted_s),
    row.predicted_s ? significant(row.mean_s / row.predicted_s, 3) : "–",
  ]);
  $("measured").querySelector(".scroll").replaceChildren(table("Times of rank 0 of the communicator; rank k is taken as the platform's host k", heads, rows));
}
watch(["first", "theme", "size"], drawSizes);
watch(["first"], () => { sizesTable(); drawMeasured(); });
