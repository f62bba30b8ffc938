// What the map's colours and widths mean, and which trees are drawn.
function drawMapLegend() {
  const plan = thePlan();
  const colour = treeColours(plan);
  const box = $("trees");
  box.replaceChildren();
  for (const each of plan.trees) {
    const label = element("label");
    const mark = element("input", { type: "checkbox" });
    mark.checked = !state.hiddenTrees.has(each.number);
    mark.addEventListener("change", () => {
      if (mark.checked) state.hiddenTrees.delete(each.number); else state.hiddenTrees.add(each.number);
      changed("trees");
    });
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = colour(each.number);
    label.append(mark, swatch, plan.tree_count === 1 ? "the one tree" : `tree ${each.number + 1}: ${percent(each.share)}`);
    box.append(label);
  }
  if (plan.tree_count > plan.trees.length) box.append(element("span", {}, `${plan.trees.length} of ${plan.tree_count} trees are drawn`));
  const legend = $("map-legend");
  legend.replaceChildren();
  const [low, high] = d3.extent(rates);
  const samples = low === undefined ? [] : [...new Set([low, Math.sqrt(low * high), high].map((value) => Number(value.toPrecision(3))))];
  for (const value of samples) {
    const item = element("span");
    item.innerHTML = `<svg width="30" height="14" aria-hidden="true"><line x1="0" x2="30" y1="7" y2="7" class="tie" stroke-width="${tieWidth(value)}"/></svg> `;
    item.append(rate(value));
    legend.append(item);
  }
  const parts = [`a node fills up as the message arrives${plan.is_outward ? "" : ", and is full when its part is done"}`];
  if (plan.root !== null) parts.push("the root has a red rim");
  if (platform.inside.some((value) => value !== null) && !places.loose) parts.unshift("a cluster's rim: the rate inside");
  const { pipes, links } = limitingOf(plan);
  if (pipes.size || links.size) parts.push("in red: the links or pipes that limit the plan");
  if (platform.ties.length > MOST_TIES) parts.push(`of ${whole(platform.ties.length)} links between clusters those that a tree uses`);
  if (platform.link_count > platform.links.length) parts.push(`${whole(platform.links.length)} of ${whole(platform.link_count)} links`);
  legend.append(element("span", {}, parts.join(" · ")));
}

watch(["plan", "theme"], drawMapLegend);
