(() => {
  const problems = [];
  const rgb = (text) => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const luminance = (c) => {
    const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(c[0]) + 0.7152 * part(c[1]) + 0.0722 * part(c[2]);
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };

  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ["title", "desc", "STYLE"].includes(e.nodeName)) continue;
    const style = getComputedStyle(e);
    if (style.display === "none" || !e.getClientRects().length) continue;
    texts++;
    const color = rgb(e instanceof SVGElement ? style.fill : style.color);
    const ratio = contrast(color, ground(e));
    if (ratio < 4.5) problems.push(`"${walker.currentNode.data.trim()}" has contrast ${ratio.toFixed(2)}`);
    if (parseFloat(style.fontSize) < 9.5) problems.push(`"${walker.currentNode.data.trim()}" is ${style.fontSize} high`);
  }

  // What is drawn needs a contrast of 3 beside what it stands on (WCAG 2.2, 1.4.11).
  for (const [selector, property] of [["truth", "fill"], ["belief", "fill"], ["missing", "stroke"], ["stale", "stroke"], ["dot", "fill"], ["try", "fill"]]) {
    const e = document.querySelector("section ." + selector);
    const ratio = e ? contrast(rgb(getComputedStyle(e)[property]), ground(e)) : 21;
    if (ratio < 3) problems.push(`${selector} has contrast ${ratio.toFixed(2)}`);
  }

  const sections = document.querySelectorAll("section.proxy");
  for (const section of sections) {
    const name = section.querySelector("h2").textContent;
    const plot = section.querySelector("svg.plot");
    const box = plot && plot.getBoundingClientRect();
    if (!box || box.width < 200 || box.height < 30) problems.push(`${name}: its timeline has no size`);
    if (!plot.querySelector(":scope > title").textContent.includes(name)) problems.push(`${name}: no title`);
    if (plot.querySelector(":scope > desc").textContent.length < 10) problems.push(`${name}: no description`);
    for (const band of plot.querySelectorAll(".missing, .stale, .try, .dot")) {
      if (!band.querySelector("title")) problems.push(`${name}: a mark without a title`);
      if (!band.getBoundingClientRect().width) problems.push(`${name}: a mark without a size`);
    }
    const labels = [...plot.querySelectorAll(".label")].filter((e) => getComputedStyle(e).display !== "none");
    for (let i = 0; i < labels.length; i++) {
      const a = labels[i].getBoundingClientRect();
      if (a.right > box.right + 1 || a.left < box.left - 1) problems.push(`${name}: "${labels[i].textContent}" is cut off`);
      for (const other of labels.slice(i + 1)) {
        const b = other.getBoundingClientRect();
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
          problems.push(`${name}: "${labels[i].textContent}" covers "${other.textContent}"`);
      }
    }
  }
  for (const svg of document.querySelectorAll("svg[role=img]")) {
    if (!svg.getAttribute("aria-label") && !svg.getAttribute("aria-labelledby")) problems.push("a drawing without a name");
  }
  for (const th of document.querySelectorAll("th")) {
    if (th.textContent && !th.scope) problems.push(`the header "${th.textContent}" is of nothing`);
  }
  const cards = document.querySelectorAll("main > section:not([aria-label])");
  return {
    Proxies: cards.length, Scroll: document.documentElement.scrollWidth, Problems: problems, Texts: texts,
    Dark: luminance(ground(document.body)) < 0.2,
  };
})()
