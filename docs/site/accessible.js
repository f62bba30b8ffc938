// What the theme leaves out for those who do not see the page, or have no mouse: a name for the search, and
// boxes that keys can scroll. The theme puts wide tables into boxes of its own a moment after the page is there.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
function reachable() {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex]), .md-typeset pre > code:not([tabindex])")) box.tabIndex = 0;
}
new MutationObserver(reachable).observe(document.body, { childList: true, subtree: true });
reachable();
