// Two plans side by side on one clock, and what is to be said of them.
function fillChoices() {
  const name = (plan) => `${plan.label} (${plan.planner})`;
  page.plans.forEach((plan, at) => $("plan").append(element("option", { value: at }, name(plan))));
  $("rival").append(element("option", { value: "" }, "no other"));
  page.plans.forEach((plan, at) => $("rival").append(element("option", { value: at }, name(plan))));
  $("plan-choice").hidden = $("rival-choice").hidden = page.plans.length < 2;
}

// Shows another plan beside the chosen one, or none.
async function showRival(at) {
  play(false);
  state.rival = at === state.plan ? null : at;
  if (theRival()) await barsOf(theRival());
  $("rival").value = state.rival ?? "";
  $("rival-figure").hidden = !theRival();
  $("top").classList.toggle("racing", Boolean(theRival()));
  changed("rival");
  fitAll();
  drawVerdict();
  setTime(Math.min(state.time, clockEnd()));
}

// How many hosts have everything at this moment.
function drawCaptions() {
  for (const [plan, caption] of [[thePlan(), "map-caption"], [theRival(), "rival-caption"]]) {
    if (!plan || !theRival()) { $(caption).textContent = ""; continue; }
    const done = hosts.filter((node) => (node === plan.root && plan.is_outward) || (plan.finish_s[node] !== null && plan.finish_s[node] <= state.time * (1 + 1e-6))).length;
    const when = done === hosts.length ? `all complete at ${seconds(plan.makespan_s)}` : `${whole(done)} of ${whole(hosts.length)} hosts ${done === 1 ? "has" : "have"} everything`;
    $(caption).replaceChildren(element("strong", {}, plan.label), `: ${when}`);
  }
}

// Of one plan a sentence a line; of two a line a plan, after the line that compares them.
function drawVerdict() {
  const plan = thePlan(), other = theRival();
  const lines = other ? [] : plan.verdict.map((sentence) => [sentence]);
  if (other && plan.makespan_s && other.makespan_s) {
    const [first, last] = plan.makespan_s <= other.makespan_s ? [plan, other] : [other, plan];
    const ratio = last.makespan_s / first.makespan_s;
    lines.push([ratio < 1.005 ? `${first.label} and ${last.label} take the same time.`
      : `${first.label} is ${significant(ratio, 3)} times as fast as ${last.label}: ${seconds(first.makespan_s)} against ${seconds(last.makespan_s)}.`]);
  }
  if (other) for (const each of [plan, other]) lines.push([element("strong", {}, each.label), `: ${each.verdict.join(" ")}`]);
  $("sentences").replaceChildren(...lines.map((parts) => { const item = element("li"); item.append(...parts); return item; }));
  $("verdict").hidden = !lines.length;
}

$("rival").addEventListener("change", (event) => showRival(event.target.value === "" ? null : Number(event.target.value)));
watch(["time", "plan", "rival"], drawCaptions);
