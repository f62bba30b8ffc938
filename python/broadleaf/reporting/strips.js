// Times of single calls as dots over one axis, with a box over the middle half of them.
const STRIP = 46, AXIS = 24, NAME = 74, DOT = 3;
const STRIP_COLOURS = { native: "--tree-1", planned: "--tree-0" };

function strips(kind, wide) {
  const names = kind.samples.map(([name]) => name);
  const high = STRIP * names.length + AXIS;
  const longest = Math.max(kind.predicted_s ?? 0, ...kind.samples.map(([, times]) => d3.max(times)));
  const x = d3.scaleLinear([0, longest || 1], [NAME, wide - 32]);
  const drawing = d3.create("svg").attr("width", wide).attr("height", high).attr("viewBox", `0 0 ${wide} ${high}`)
    .attr("role", "img").attr("aria-label", kind.samples.map(([name, times]) => `${name}: ${spreadOf(times)}`).join("; "));
  const ticks = x.ticks(Math.max(2, wide / 130));
  drawing.append("g").attr("class", "gridline").selectAll("line").data(ticks).join("line").attr("x1", x).attr("x2", x).attr("y1", 0).attr("y2", high - AXIS);
  drawing.append("g").attr("class", "axis").attr("transform", `translate(0,${high - AXIS})`).call(d3.axisBottom(x).tickValues(ticks).tickFormat(seconds));
  kind.samples.forEach(([name, times], at) => strip(drawing, name, times, at * STRIP, x));
  if (kind.predicted_s) drawing.append("line").attr("class", "limit").attr("x1", x(kind.predicted_s)).attr("x2", x(kind.predicted_s)).attr("y1", 0).attr("y2", high - AXIS);
  return drawing.node();
}

function strip(drawing, name, times, top, x) {
  const sorted = d3.sort(times), colour = css(STRIP_COLOURS[name]);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => d3.quantileSorted(sorted, part));
  drawing.append("text").attr("class", "mark-name").attr("x", 0).attr("y", top + STRIP / 2 + 4).text(name);
  drawing.append("rect").attr("class", "box").attr("x", x(low)).attr("y", top + 7).attr("width", Math.max(1, x(high) - x(low))).attr("height", STRIP - 14).attr("fill", colour);
  drawing.append("line").attr("class", "median").attr("x1", x(middle)).attr("x2", x(middle)).attr("y1", top + 4).attr("y2", top + STRIP - 4).attr("stroke", colour);
  // Calls in the order in which they were made, from above: a drift shows as a slope.
  drawing.append("g").selectAll("circle").data(times).join("circle").attr("r", DOT).attr("fill", colour).attr("class", "sample")
    .attr("cx", x).attr("cy", (_, at) => top + 10 + (STRIP - 20) * (times.length > 1 ? at / (times.length - 1) : 0.5))
    .on("pointermove", (event, time) => tip(event, `${name}: ${seconds(time)}`)).on("pointerleave", (event) => tip(event, null));
}

// Median and extremes in words, for those who do not see the dots.
function spreadOf(times) {
  const [low, high] = d3.extent(times);
  return `${times.length} calls, median ${seconds(d3.median(times))}, from ${seconds(low)} to ${seconds(high)}`;
}
