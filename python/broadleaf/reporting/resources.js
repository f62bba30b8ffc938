// The resources held longest, as shares of the makespan, with the bound as a mark.
function drawBusy() {
  const plan = thePlan();
  const list = $("busy");
  list.replaceChildren();
  // The longest may be held beyond the plan's end: the tracks are as long as that.
  const longest = plan.makespan_s ? Math.max(1, d3.max(plan.busy, ([, held]) => held) / plan.makespan_s) : 1;
  for (const [name, held] of plan.busy) {
    const part = plan.makespan_s ? held / plan.makespan_s : 0;
    const item = element("li");
    const track = element("span", { class: "track" });
    const bar = element("i");
    bar.style.width = `${100 * part / longest}%`;
    track.append(bar);
    if (plan.bound_s && plan.makespan_s) {
      const mark = element("b");
      mark.style.left = `calc(${100 * plan.bound_s / plan.makespan_s / longest}% - 1px)`;
      track.append(mark);
    }
    item.append(element("span", { class: "name", title: spoken(name) }, spoken(name)), track, element("span", { class: "value" }, `${percent(part)}, ${seconds(held)}`));
    list.append(item);
  }
  const least = !plan.bound_s ? "" :
    ` The red mark is the bound, ${seconds(plan.bound_s)}: no plan finishes earlier; this one takes ${significant(plan.makespan_s / plan.bound_s)} times as long.`;
  const beyond = longest <= 1 + 1e-6 ? "" :
    ` More than 100 %: ${spoken(plan.busy[0][0])} needs longer for a transfer than the link does, and is still busy when the last host has everything.`;
  $("busy-hint").textContent = `How long each was held, as a share of the ${seconds(plan.makespan_s)} that the plan takes.${least}${beyond}` +
    (plan.busy_count > plan.busy.length ? ` The busiest ${plan.busy.length} of ${whole(plan.busy_count)}.` : "");
}
const KINDS = { out: "sending port of", in: "receiving port of", link: "link", shared: "shared pipe" };
function spoken(name) {
  const [kind, ...rest] = name.split(" ");
  if (kind !== "link") return `${KINDS[kind] ?? kind} ${rest.join(" ")}`;
  // The two names may have spaces: they part where both are names of nodes.
  const at = rest.findIndex((_, end) => end > 0 && nodeByName.has(rest.slice(0, end).join(" ")) && nodeByName.has(rest.slice(end).join(" ")));
  return `link ${rest.slice(0, at).join(" ")} to ${rest.slice(at).join(" ")}`;
}
watch(["plan"], drawBusy);
