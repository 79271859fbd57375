// Puts the style sheets into the page in a way that needs no 'unsafe-inline'.
import uplot from "uplot/dist/uPlot.min.css?inline";
import base from "./base.css?inline";
import compare from "./compare.css?inline";
import inside from "./inside.css?inline";
import lanes from "./lanes.css?inline";
import palette from "./palette.css?inline";
import run from "./run.css?inline";
import runs from "./runs.css?inline";
import workers from "./workers.css?inline";

export function adoptStyles(): void {
  document.adoptedStyleSheets = [
    uplot,
    palette,
    base,
    runs,
    run,
    inside,
    lanes,
    compare,
    workers,
  ].map((css) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    return sheet;
  });
}
