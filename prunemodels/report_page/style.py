"""Colours and the style sheet. Tests check the contrast of both themes."""

from __future__ import annotations

from prunemodels.report_page.markup import Html

LIGHT = {
    "paper": "#ffffff",
    "raised": "#f5f6f7",
    "ink": "#1b1e22",
    "muted": "#565c64",
    "rule": "#d5d9de",
    "before": "#6b7079",
    "after": "#0b5fae",
    "accent": "#b3440a",
    "pale": "#c9ced6",
    "good": "#1d6b3a",
    "bad": "#a3202a",
}
"""By role; `before` and `after` are the two forests, `accent` the budget and the relaxation."""

DARK = {
    "paper": "#14171a",
    "raised": "#1d2125",
    "ink": "#eceef0",
    "muted": "#a9b0b8",
    "rule": "#3a4047",
    "before": "#a0a7b0",
    "after": "#6cb4ff",
    "accent": "#ff9d66",
    "pale": "#4a515a",
    "good": "#7bd49b",
    "bad": "#ff8f8f",
}


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{role}:{colour};" for role, colour in colours.items())


RULES = """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",
Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:break-word}
header,main,footer,nav{max-width:62rem;margin:0 auto;padding:0 clamp(1rem,4vw,2rem)}
header{padding-top:clamp(1.5rem,5vw,3.5rem)}
h1{font-size:1rem;font-weight:600;color:var(--muted);margin:0 0 .75rem;overflow-wrap:anywhere}
.lede{font-size:clamp(1.3rem,1rem + 1.7vw,2rem);line-height:1.28;letter-spacing:-.012em;margin:0 0 1rem;max-width:27em;
text-wrap:pretty}
.lede strong{font-weight:650;color:var(--after)}
h2{font-size:1.3rem;line-height:1.25;letter-spacing:-.01em;margin:0 0 .6rem}
h3{font-size:1rem;margin:0 0 .35rem}
section{padding:2.2rem 0 .6rem;border-top:1px solid var(--rule);margin-top:1.8rem}
p{margin:0 0 .9rem;max-width:42em}
.note{color:var(--muted);font-size:.9rem}
a{color:var(--after);text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.4rem .8rem;z-index:2}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;padding:0;margin:0;font-size:.9rem}
nav a{display:inline-block;padding:.25rem 0}
.alert{border:2px solid var(--bad);border-left-width:.5rem;border-radius:6px;padding:.7rem 1rem;font-weight:600;max-width:none}
.kept-budget{color:var(--muted)}
.stats{display:grid;grid-template-columns:repeat(4,1fr);gap:1px;background:var(--raised);
border:1px solid var(--rule);border-radius:6px;overflow:hidden;margin:1.4rem 0}
.stats>div{box-shadow:0 0 0 1px var(--rule);padding:.9rem 1.1rem 1rem}
.stats dt{font-size:.85rem;color:var(--muted)}
.stats dd{margin:0}
.stats .big{font-size:1.4rem;line-height:1.35;font-weight:600;letter-spacing:-.015em}
.stats .was{color:var(--muted);font-weight:400}
.stats .was,.stats .now{white-space:nowrap}
.stats .more{font-size:.85rem;color:var(--muted)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1.6rem 2.2rem;margin:.9rem 0 1.1rem}
figure{margin:0;min-width:0}
.beside{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));gap:.4rem 2.2rem;align-items:center}
figcaption{font-size:.9rem;color:var(--muted);max-width:38em;margin-top:.3rem}
svg{display:block;width:100%;height:auto;max-width:30rem}
svg.wide{max-width:none}
svg text{font-size:12px;fill:var(--ink);font-family:inherit}
svg .quiet{fill:var(--muted)}
svg .end{text-anchor:end}
svg .mid{text-anchor:middle}
.grid{stroke:var(--rule);stroke-width:1}
.axis{stroke:var(--muted);stroke-width:1}
.plot{overflow:hidden}
.line{fill:none;stroke:var(--after);stroke-width:2;stroke-linejoin:round}
.band{fill:var(--after);opacity:.16}
.edge{fill:none;stroke:var(--accent);stroke-width:1.6}
.chord{fill:none;stroke:var(--accent);stroke-width:5;opacity:.35;stroke-linecap:round}
.budget{stroke:var(--accent);stroke-width:1.4;stroke-dasharray:5 3}
.whisker{stroke:var(--after);stroke-width:1.2;fill:none}
.dot{fill:var(--after)}
.chosen{fill:none;stroke:var(--ink);stroke-width:2.4}
.unpruned{fill:var(--ink)}
.ink{stroke:var(--ink);stroke-width:1.4;fill:none}
.relaxed{fill:var(--paper);stroke:var(--accent);stroke-width:2}
.was-bar{fill:var(--paper);stroke:var(--before);stroke-width:1.2}
.now-bar{fill:var(--after)}
.gone{fill:var(--pale)}
.kept{fill:var(--after)}
.layer{fill:var(--after);stroke:var(--paper);stroke-width:.8}
.empty{fill:var(--raised)}
.legend{list-style:none;padding:0;margin:.4rem 0 0;font-size:.88rem;display:grid;gap:.1rem}
.legend li{display:grid;grid-template-columns:1.9rem 1fr;align-items:center;gap:.3rem}
.legend svg{width:1.75rem;height:1rem}
.scroll{overflow-x:auto;margin:.4rem 0 1.1rem}
table{border-collapse:collapse;font-size:.92rem;min-width:min(100%,20rem)}
caption{text-align:left;color:var(--muted);font-size:.9rem;padding-bottom:.4rem}
caption span{display:block;position:sticky;left:0;width:max-content;max-width:min(38em,calc(100vw - 2.6rem))}
th,td{padding:.3rem .9rem .3rem 0;text-align:right;border-bottom:1px solid var(--rule);vertical-align:baseline}
th[scope=row],th:first-child{text-align:left;font-weight:500}
th[scope=row]{overflow-wrap:anywhere;min-width:8rem;max-width:20rem}
thead th{font-weight:600;color:var(--muted);vertical-align:bottom}
.wide-table{width:100%}
td{white-space:nowrap}
.bars{max-width:none;min-width:7rem;height:1.35rem}
.wide-table td:last-child{width:34%;padding-right:0}
.words{display:block;white-space:normal;text-align:left;min-width:13rem;max-width:28rem}
.users{display:block;font-weight:400;font-size:.85rem;color:var(--muted)}
.verdict{font-weight:600}
.verdict.yes{color:var(--good)}
.verdict.no{color:var(--bad)}
.verdict.open{color:var(--accent)}
ul.plain{padding-left:1.2rem;margin:.2rem 0 1rem;max-width:44em}
ul.plain li{margin-bottom:.35rem}
details{margin:.3rem 0 1.1rem}
summary{cursor:pointer;font-size:.92rem;padding:.25rem 0;color:var(--after)}
dl.facts{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.2rem;margin:0 0 1rem;font-size:.92rem}
dl.facts dt{color:var(--muted)}
dl.facts dd{margin:0;overflow-wrap:anywhere}
@media(max-width:60rem){.stats{grid-template-columns:repeat(2,1fr)}}
@media(max-width:34rem){.stats{grid-template-columns:1fr}}
@media(max-width:34rem){svg text{font-size:14px}th[scope=row]{position:sticky;left:0;background:var(--paper)}}
@media(max-width:34rem){dl.facts{grid-template-columns:1fr;gap:0}dl.facts dd{margin-bottom:.5rem}}
pre{background:var(--raised);border:1px solid var(--rule);border-radius:6px;padding:.8rem 1rem;overflow-x:auto;font-size:.88rem;
white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0 1.1rem}
footer{color:var(--muted);font-size:.88rem;padding-top:1.2rem;padding-bottom:3rem}
"""

PRINT = """
@media print{body{font-size:10pt}nav,.skip{display:none}section{break-inside:auto;padding-top:1.2rem;margin-top:1rem}
figure,tr,.stats{break-inside:avoid}h2{break-after:avoid}.scroll{overflow:visible}}
"""


def style_sheet() -> Html:
    """The page's only style sheet. Printed pages use the light theme."""
    light, dark = _variables(LIGHT), _variables(DARK)
    theme = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return Html(f"<style>{theme}{RULES}{PRINT}</style>")
